"""The goals of the engine Succinct: each is a figure of ours, or its ratio to a peer's, and a target."""

from report import table
from tables import reviews
from workloads import succinct_sql
from workloads.succinct_memory import ALL, SETTINGS, THIRD
from workloads.succinct_records import (
    MIX_THREADS,
    OURS,
    ROCKS,
    ROCKS_SMALL,
    SYNCED,
    WRITE_THREADS,
    mix_name,
    write_name,
)


class Goals:
    def __init__(self):
        self.lines = []

    def at_most(self, what, ours, target, peer=None):
        """Ours is at most the target, or at most the target times the peer's; `peer` is its name and figure."""
        self._add(what, ours, peer, f"<= {target:g}", lambda value: value <= target)

    def at_least(self, what, ours, target, peer=None):
        self._add(what, ours, peer, f">= {target:g}", lambda value: value >= target)

    def table(self):
        return table(["goal", "ours", "peer's", "peer", "ours / peer's", "target", "reached"], self.lines)

    def _add(self, what, ours, peer, target, is_reached):
        name, theirs = peer or ("", None)
        if ours is None or (peer and theirs is None):
            self.lines.append([what, _shown(ours), _shown(theirs), name, "", target, "not measured"])
            return
        value = ours / max(theirs, 1e-9) if peer else ours
        verdict = "yes" if is_reached(value) else "NO"
        self.lines.append([what, _shown(ours), _shown(theirs), name, f"{value:.2f}" if peer else "", target, verdict])


def all_goals(threads, sizes, stores, engines):
    """The goals, from the bytes of each table's text, the figures of its stores and those of its tables in SQL."""
    goals = Goals()
    for name, size in sizes.items():
        _sizes(goals, name, stores[name], engines[name])
        _extraction(goals, name, stores[name])
        _build(goals, name, size, engines[name])
    measured = stores[reviews.NAME]
    _reads(goals, measured)
    _mixes(goals, measured)
    _writes(goals, measured)
    for name in sizes:
        _patterns(goals, name, engines[name].times, threads)
    return goals


def _sizes(goals, name, measured, engines):
    ours = {
        f"{name}: MB on disk": _scaled(measured.get("load", OURS, "size"), 1e6),
        f"{name}: MB on disk, in SQL with trigrams": _scaled(engines.figure("basalt", "size"), 1e6),
    }
    for what, size in ours.items():
        for peer, target in ((ROCKS, 0.6), (ROCKS_SMALL, 0.95)):
            goals.at_most(what, size, target, (peer, _scaled(measured.get("load", peer, "size"), 1e6)))


def _extraction(goals, name, measured):
    scan, chance = measured.rate("scan", OURS, "bytes"), measured.rate(mix_name(ALL, 1, 100), OURS, "bytes")
    goals.at_least(f"{name}: all records in order, one thread, MB/s", _scaled(scan, 1e6), 1500)
    goals.at_least(f"{name}: records by chance, one thread, MB/s", _scaled(chance, 1e6), 600)


def _build(goals, name, size, engines):
    seconds, memory = engines.figure("basalt", "processors"), engines.figure("basalt", "memory")
    rate = seconds and size / seconds / 1e6
    goals.at_least(f"{name}: OPTIMIZE FINAL, MB of text in a second of a processor", rate, 50)
    goals.at_most(f"{name}: OPTIMIZE FINAL, memory in MiB", _scaled(memory, 1 << 20), 1024)


def _reads(goals, measured):
    single = mix_name(ALL, 1, 100)
    goals.at_most(f"{single}: average us", measured.get(single, OURS, "reads_average_us"), 3)
    goals.at_most(f"{single}: 99 % us", measured.get(single, OURS, "reads_p99_us"), 25)
    for memory, target in ((ALL, 3), (THIRD, 20)):
        name = mix_name(memory, 1, 100)
        peer = (ROCKS, measured.rate(name, ROCKS, "reads_count"))
        goals.at_least(f"{name}: reads/s", measured.rate(name, OURS, "reads_count"), target, peer)


def _mixes(goals, measured):
    """The peer is the better one of both RocksDBs, whose writes are not on the disk when they return, as ours are."""
    for memory in SETTINGS:
        for reads in (95, 99):
            name = mix_name(memory, MIX_THREADS, reads)
            stores = (ROCKS, ROCKS_SMALL, f"{ROCKS}{SYNCED}")
            *rates, synced = ((store, measured.rate(name, store, "reads_count", "writes_count")) for store in stores)
            ours = measured.rate(name, OURS, "reads_count", "writes_count")
            for peer in (max(rates, key=lambda pair: pair[1] or 0), synced):
                goals.at_least(f"{name}: operations/s", ours, 1, peer)


def _writes(goals, measured):
    """Our writes are on the disk when they return, RocksDB's by default are not."""
    for memory in SETTINGS:
        for threads in WRITE_THREADS:
            name = write_name(memory, threads)
            for store in (ROCKS, f"{ROCKS}{SYNCED}"):
                peer = (store, measured.rate(name, store, "writes_count"))
                goals.at_least(f"{name}: writes/s", measured.rate(name, OURS, "writes_count"), 0.7, peer)


def _patterns(goals, name, times, threads):
    """Rates of queries are shown, so that more is better."""
    for count in sorted({1, threads}):
        for what in succinct_sql.PATTERNS[name]:
            pattern = succinct_sql.pattern_name(name, what, count)
            rates = {engine: 1 / max(seconds, 1e-9) for engine, seconds in times.rows.get(pattern, {}).items()}
            target = 50 if what == succinct_sql.SELECTIVE else 3
            peer = ("ClickHouse", rates.get("clickhouse"))
            goals.at_least(f"{pattern}: queries/s", rates.get("basalt"), target, peer)


def _scaled(value, unit):
    return None if value is None else value / unit


def _shown(value):
    return "" if value is None else f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"
