"""The report: Markdown tables, ready for docs/benchmarks.md."""

import datetime
import math

import machine


class Report:
    def __init__(self, root, options, versions):
        settings = f"{options.rows:,} rows, {options.keys:,} keys, {options.threads} threads a system"
        peers = ", ".join(f"{name} {version}" for name, version in versions.items())
        today = datetime.datetime.now(datetime.UTC).date()
        self.pieces = [
            f"Measured on {today} at commit `{machine.commit(root)}` on {machine.description()}: {settings}, "
            f"queries best of {options.repeats}; {peers}."
        ]

    def section(self, title, *pieces):
        self.pieces += [f"### {title}", *(piece for piece in pieces if piece)]

    def text(self):
        return "\n\n".join(self.pieces) + "\n"


def table(head, rows):
    """A Markdown table; the first column is text, the others are figures."""
    lines = ["| " + " | ".join(head) + " |", "|---" + "|---:" * (len(head) - 1) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


class Times:
    """Seconds by workload and engine, with the ratio of ours to the best peer."""

    def __init__(self, engines):
        self.engines = engines
        self.rows = {}
        # The largest part of the processors' time that the host took in a run that is here.
        self.lost = 0.0

    def add_run(self, name, engine, run):
        self.lost = max(self.lost, run.lost)
        self.add(name, engine, run.seconds)

    def add_runs(self, name, runs):
        for engine, run in runs.items():
            self.add_run(name, engine, run)

    def add(self, name, engine, seconds):
        self.rows.setdefault(name, {})[engine] = seconds
        progress(f"{name}: {engine} {milliseconds(seconds)} ms")

    def host(self):
        """What is to be said of the host, in a sentence."""
        return f"The host took at most {self.lost:.0%} of the processors' time in a run that counts."

    def table(self, what="milliseconds"):
        head = [what, *self.engines, "ours / best peer"]
        rows = []
        for name, found in self.rows.items():
            cells = [milliseconds(found[engine]) if engine in found else "" for engine in self.engines]
            rows.append([name, *cells, shown_ratio(ratio(found))])
        return table(head, rows)


def ratio(found):
    """Ours over the best peer's, or None where one of them is missing."""
    others = [seconds for engine, seconds in found.items() if engine != "basalt"]
    if "basalt" not in found or not others:
        return None
    return found["basalt"] / max(min(others), 1e-9)


def shown_ratio(value):
    return "" if value is None else f"{value:.2f}"


def milliseconds(seconds):
    value = seconds * 1000
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def geometric_mean(values):
    return math.exp(sum(math.log(max(value, 1e-9)) for value in values) / len(values))


def progress(line):
    print(f"  {line}", flush=True)
