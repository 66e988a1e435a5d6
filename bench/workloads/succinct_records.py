"""Records of stores that are libraries: loading, bytes on disk, scanning, reading, reading beside writing, writing."""

import machine
from engines.failure import Failed
from report import progress, table
from workloads import succinct_memory
from workloads.succinct_memory import ALL, SETTINGS

OURS = "Succinct"
ROCKS = "RocksDB, LZ4, 4 KiB"
ROCKS_SMALL = "RocksDB, ZSTD, 16 KiB"
MIX_THREADS = 8
MIXES = (100, 99, 95)
WRITE_THREADS = (1, 3, 6)
WRITES_MIN, WRITES_MAX = 2_000, 200_000
# Each waits for the disk.
SYNCED_WRITES_MAX = 20_000
SYNCED = ", synced"
# Figures that are printed while it runs.
SHOWN = ("seconds", "size", "records", "reads_count", "reads_average_us", "writes_count", "writes_average_us")


class Measured:
    """Figures by what was measured and by the store."""

    def __init__(self):
        self.found = {}

    def add(self, what, store, work):
        """Keeps the figures of the call `work` under the store's name; if it fails, says so."""
        try:
            figures = work()
            if figures.get("missing"):
                raise Failed(f"{store}: {figures['missing']:.0f} keys are not found")
        except Failed as failure:
            progress(f"{what}: {failure}")
            return
        self.found[what, store] = figures
        shown = (f"{name} {figures[name]:,.4g}" for name in SHOWN if figures.get(name))
        progress(f"{what}: {store}: {', '.join(shown)}")

    def get(self, what, store, figure):
        """The figure, or `None` if it was not measured."""
        return self.found.get((what, store), {}).get(figure)

    def rate(self, what, store, *figures):
        """The sum of the figures in a second."""
        found = self.found.get((what, store))
        return found and sum(found[figure] for figure in figures) / found["seconds"]


def load(store, size, measured):
    def work():
        figures = succinct_memory.run(store, ALL, size, "load")
        return {**figures, "size": machine.tree_bytes(store.directory)}

    measured.add("load", store.name, work)
    if measured.get("load", store.name, "size") is not None:
        measured.add("scan", store.name, _run(store, ALL, size, "scan", {}))


def read(store, size, seconds, measured, memories):
    for memory in memories:
        for threads, reads in [(1, 100), *((MIX_THREADS, reads) for reads in MIXES if store.kind.has_threads)]:
            what = mix_name(memory, threads, reads)
            options = {"threads": threads, "reads_percent": reads, "seconds": seconds, "warm_seconds": seconds}
            measured.add(what, store.name, _run(store, memory, size, "mix", options))
            if store.kind.can_sync and reads < 100:
                options["sync"] = "true"
                measured.add(what, f"{store.name}{SYNCED}", _run(store, memory, size, "mix", options))


def write(store, size, measured):
    records = measured.get("load", store.name, "records")
    writes = int(min(max(records / 10, WRITES_MIN), WRITES_MAX))
    for memory in SETTINGS:
        for threads in WRITE_THREADS:
            what, options = write_name(memory, threads), {"threads": threads, "writes": writes}
            measured.add(what, store.name, _run(store, memory, size, "write", options))
            if store.kind.can_sync:
                options = {**options, "writes": min(writes, SYNCED_WRITES_MAX), "sync": "true"}
                measured.add(what, f"{store.name}{SYNCED}", _run(store, memory, size, "write", options))


def _run(store, memory, size, verb, options):
    return lambda: succinct_memory.run(store, memory, size, verb, **options)


def mix_name(memory, threads, reads):
    return f"{memory.name}, {threads} thread{'s' if threads > 1 else ''}, {reads} % reads"


def write_name(memory, threads):
    return f"{memory.name}, {threads} thread{'s' if threads > 1 else ''} writing"


def extraction_table(stores, measured):
    rows = []
    for store in stores:
        scan, read = measured.rate("scan", store, "bytes"), measured.rate(mix_name(ALL, 1, 100), store, "bytes")
        rows.append([store, *(_rate(value and value / 1e6) for value in (scan, read))])
    return table(["one thread, all in memory", "all records in order, MB/s", "records by chance, MB/s"], rows)


def read_table(memory, stores, measured):
    head = [memory.name, "reads/s", "average us", "median us", "99 % us", "99.9 % us"]
    head += [f"{MIX_THREADS} threads, {reads} % reads: operations/s" for reads in MIXES]
    rows = []
    for store in _with_synced(stores, mix_name(memory, MIX_THREADS, MIXES[-1]), measured):
        single = mix_name(memory, 1, 100)
        times = [measured.get(single, store, f"reads_{name}_us") for name in ("average", "median", "p99", "p999")]
        mixes = [
            measured.rate(mix_name(memory, MIX_THREADS, reads), store, "reads_count", "writes_count") for reads in MIXES
        ]
        cells = [_rate(measured.rate(single, store, "reads_count")), *map(_time, times), *map(_rate, mixes)]
        rows.append([store, *cells])
    return table(head, rows)


def write_table(stores, measured):
    names = [write_name(memory, threads) for memory in SETTINGS for threads in WRITE_THREADS]
    rows = []
    for store in _with_synced(stores, names[0], measured):
        rows.append([store, *(_rate(measured.rate(name, store, "writes_count")) for name in names)])
    return table(["writes/s", *names], rows)


def _with_synced(stores, what, measured):
    """The stores, each followed by itself with synced writes if it was measured so."""
    names = [name for store in stores for name in (store, f"{store}{SYNCED}")]
    return [name for name in names if name in stores or (what, name) in measured.found]


def _rate(value):
    return "" if value is None else f"{value:,.0f}"


def _time(value):
    return "" if value is None else f"{value:.2f}" if value < 100 else f"{value:,.0f}"
