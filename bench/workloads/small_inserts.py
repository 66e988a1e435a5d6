"""A hundred INSERTs of one row of 105 columns, each acknowledged before the next."""

from engines.failure import Failed
from report import milliseconds, progress, table
from tables import hits, text_file

COUNT = 100
NUMBERS = ("Int", "UInt", "Float")
# The setting fsync_after_insert of the session, and settings of the table, that make an INSERT durable or not.
SYNCED = {"basalt": (1, ""), "clickhouse": (None, "fsync_after_insert = 1, fsync_part_directory = 1")}
UNSYNCED = {"basalt": (0, ""), "clickhouse": (None, "fsync_after_insert = 0")}


def table_of(engines, columns, path):
    """A Markdown table: milliseconds an INSERT, synced and not."""
    rows = []
    for name, durability in (("synced", SYNCED), ("not synced", UNSYNCED)):
        into = f"small_{name.replace(' ', '_')}"
        found = [_seconds(engine, into, columns, path, *durability[engine.name]) for engine in engines]
        cells = ["fails" if seconds is None else milliseconds(seconds) for seconds in found]
        ratio = f"{found[0] / found[1]:.2f}" if all(found) else ""
        rows.append([f"INSERT of one row, {name}", *cells, ratio])
    return table(["ms each", *(engine.name for engine in engines), "ours / ClickHouse's"], rows)


def _seconds(engine, into, columns, path, sync, settings):
    try:
        engine.timed(text_file.create(engine, into, columns, hits.KEY, settings))
        if sync is not None:
            engine.set("fsync_after_insert", sync)
        # What merges take of the machine depends on what was inserted before.
        engine.timed("SYSTEM STOP MERGES")
        seconds = sum(engine.timed(statement) for statement in _statements(into, columns, path))
        count = engine.rows(f"SELECT count() FROM {into}")[0][0]
        engine.timed("SYSTEM START MERGES")
    except Failed as failure:
        progress(f"{into}: {engine.name} fails: {failure}")
        return None
    progress(f"{into}: {engine.name} {milliseconds(seconds / COUNT)} ms each, {count} rows")
    return seconds / COUNT


def _statements(into, columns, path):
    """INSERTs of the file's first rows."""
    kinds = [column.split()[1] for column in columns.split(",")]
    with open(path, encoding="utf-8") as file:
        for _, line in zip(range(COUNT), file):
            cells = zip(kinds, line.rstrip("\n").split("\t"))
            values = (text if kind.startswith(NUMBERS) else f"'{text}'" for kind, text in cells)
            yield f"INSERT INTO {into} VALUES ({', '.join(values)})"
