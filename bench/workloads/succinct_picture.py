"""A picture of the stores of records: bytes on disk from left to right, reads a second from bottom to top."""

import math
from html import escape

from workloads.succinct_memory import ALL, THIRD
from workloads.succinct_records import mix_name

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 80, 170, 40, 60
# A store has one colour, with all data in memory as a disc and with a third of the memory as a ring.
COLOURS = ("#c0392b", "#e67e22", "#2c3e50", "#2980b9", "#7f8c8d", "#95a5a6", "#27ae60")
STEPS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def picture(names, size, measured):
    """The text of an SVG file; `size` are the bytes of the text."""
    points = [point for name in names for point in _points(name, size, measured)]
    if not points:
        return None
    low, high = (math.floor(math.log10(min(y for *_, y in points))), math.ceil(math.log10(max(y for *_, y in points))))
    most = max(x for _, _, x, _ in points) * 1.1

    def place(x, y):
        across = LEFT + (WIDTH - LEFT - RIGHT) * x / most
        up = (math.log10(y) - low) / max(high - low, 1)
        return across, HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * up

    lines = [*_frame(most, low, high, place)]
    for number, name in enumerate(names):
        colour = COLOURS[number % len(COLOURS)]
        mine = [(memory, *place(x, y)) for store, memory, x, y in points if store == name]
        lines += [_mark(memory, across, up, colour) for memory, across, up in mine]
        if mine:
            _, across, up = mine[0]
            lines.append(_text(across + 8, up + 4, name, "start", colour))
    return "\n".join([_head(), *lines, "</svg>", ""])


def _points(name, size, measured):
    on_disk = measured.get("load", name, "size")
    for memory in (ALL, THIRD):
        rate = measured.rate(mix_name(memory, 1, 100), name, "reads_count")
        if on_disk and rate:
            yield name, memory, on_disk / size, rate


def _head():
    style = 'font-family="sans-serif" font-size="12"'
    box = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>\n<rect width="100%" height="100%" fill="white"/>'


def _frame(most, low, high, place):
    bottom = HEIGHT - BOTTOM
    yield _text(LEFT, TOP - 20, "reads a second of one thread: disc all in memory, ring a third of it", "start")
    yield _text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 15, "bytes on disk, as a share of the text", "middle")
    for step in (step for step in STEPS if step <= most):
        across, _ = place(step, 10**low)
        yield _line(across, TOP, across, bottom)
        yield _text(across, bottom + 18, f"{step:g}", "middle")
    for power in range(low, high + 1):
        _, up = place(0, 10**power)
        yield _line(LEFT, up, WIDTH - RIGHT, up)
        yield _text(LEFT - 8, up + 4, f"{10**power:,}", "end")


def _line(x1, y1, x2, y2):
    return f'<line x1="{x1:.0f}" y1="{y1:.0f}" x2="{x2:.0f}" y2="{y2:.0f}" stroke="#dddddd"/>'


def _mark(memory, across, up, colour):
    fill = colour if memory is ALL else "white"
    return f'<circle cx="{across:.0f}" cy="{up:.0f}" r="5" stroke="{colour}" stroke-width="2" fill="{fill}"/>'


def _text(x, y, text, anchor, colour="#333333"):
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{colour}">{escape(text)}</text>'
