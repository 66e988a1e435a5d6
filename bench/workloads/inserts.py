"""Blocks of 105 columns into ours and ClickHouse: sorted, unsorted, merged; single rows; peak memory."""

import os

import machine
from engines.failure import Failed
from report import progress, table
from tables import hits, text_file
from workloads import small_inserts

PARTS = 8
BLOCK_ROWS = 1_000_000
SYNCED = {"basalt": "", "clickhouse": "fsync_after_insert = 1, fsync_part_directory = 1"}
SHUFFLED_KEY = "WatchID"


def run(bench):
    script = hits.generator(bench.root)
    if script is None:
        progress("skipped: there is no shared/tools/gen_hits.py next to the checkout (BASALT_SHARED names its folder)")
        return
    path = os.path.abspath(hits.write_tsv(script, bench.options.cache, bench.options.rows))
    columns = hits.columns(script)
    measured = {}
    with bench.opened("inserts", "basalt", "clickhouse") as engines:
        for engine in engines:
            engine.timed("SELECT 1")
            idle = machine.memory_bytes(engine.pid)
            _fill_sources(engine, columns, path)
            for name, work in _works(columns, bench.options.rows).items():
                measured.setdefault(name, {})[engine.name] = _measure(engine, name, work, idle)
        singles = small_inserts.table_of(engines, columns, path)
    head = ["", *(f"{engine.name}, {unit}" for unit in ("rows/s", "MB") for engine in engines)]
    head += ["rows/s, ours / ClickHouse's", "MB, ours / ClickHouse's"]
    bench.report.section("Inserts and merges, 105 columns", table(head, _lines(measured, engines)), singles)


def _fill_sources(engine, columns, path):
    """`hits` has one part in the order of the key, `shuffled` in an order that has nothing to do with it."""
    for name, key in (("hits", hits.KEY), ("shuffled", SHUFFLED_KEY)):
        engine.timed(text_file.create(engine, name, columns, key))
    engine.timed(text_file.load(engine, "hits", columns, hits.KEY, path))
    engine.timed("OPTIMIZE TABLE hits FINAL")
    engine.timed("INSERT INTO shuffled SELECT * FROM hits")
    engine.timed("OPTIMIZE TABLE shuffled FINAL")


def _works(columns, rows):
    """What is measured, by name: a function of an engine that prepares it, and the statement, and its rows."""
    block = min(BLOCK_ROWS, rows)
    return {
        f"sorted block of {block:,} rows": _block("hits", columns, block),
        f"unsorted block of {block:,} rows": _block("shuffled", columns, block),
        f"OPTIMIZE FINAL of {PARTS} parts, {rows:,} rows": _merge(columns, rows),
    }


def _block(source, columns, rows):
    def prepare(engine):
        engine.timed("DROP TABLE IF EXISTS target")
        engine.timed(text_file.create(engine, "target", columns, hits.KEY, SYNCED[engine.name]))
        _one_block_of(engine, rows)

    return prepare, f"INSERT INTO target SELECT * FROM {source} LIMIT {rows}", rows


def _merge(columns, rows):
    def prepare(engine):
        engine.timed("DROP TABLE IF EXISTS target")
        engine.timed(text_file.create(engine, "target", columns, hits.KEY, SYNCED[engine.name]))
        engine.timed("SYSTEM STOP MERGES")
        block = -(-rows // PARTS)
        _one_block_of(engine, block)
        for part in range(PARTS):
            engine.timed(f"INSERT INTO target SELECT * FROM shuffled LIMIT {block} OFFSET {part * block}")

    return prepare, "OPTIMIZE TABLE target FINAL", rows


def _one_block_of(engine, rows):
    """An INSERT ... SELECT makes blocks of this many rows, in the order of its rows."""
    engine.set("max_threads", 1)
    engine.set("max_insert_block_size", rows)
    engine.set("min_insert_block_size_rows", rows)
    engine.set("min_insert_block_size_bytes", 1 << 40)


def _measure(engine, name, work, idle):
    """Rows a second, and the memory of a new process for it, beyond the `idle` of one without tables."""
    prepare, statement, rows = work
    try:
        prepare(engine)
        engine.restart()
        _count_parts(engine, name)
        with machine.MemoryPeak(engine.pid) as memory:
            seconds = engine.timed(statement)
    except Failed as failure:
        progress(f"{name}: {engine.name} fails: {failure}")
        return None
    taken = memory.bytes - idle
    progress(f"{name}: {engine.name} {rows / seconds:,.0f} rows/s, {taken / 1e6:,.0f} MB")
    return rows / seconds, taken


def _count_parts(engine, name):
    """Background merges run again since the restart: says so if they were faster than we are."""
    engine.timed("SYSTEM STOP MERGES")
    parts = int(engine.rows("SELECT count() FROM system.parts WHERE table = 'target' AND active")[0][0])
    engine.timed("SYSTEM START MERGES")
    if parts not in (0, PARTS):
        progress(f"{name}: {engine.name} has {parts} parts, not {PARTS}")


def _lines(measured, engines):
    lines = []
    for name, found in measured.items():
        figures = [found[engine.name] for engine in engines]
        speeds = [f"{figure[0]:,.0f}" if figure else "fails" for figure in figures]
        memories = [f"{figure[1] / 1e6:,.0f}" if figure else "" for figure in figures]
        ratios = ["", ""]
        if all(figures):
            ratios = [f"{figures[0][at] / max(figures[1][at], 1):.2f}" for at in range(2)]
        lines.append([name, *speeds, *memories, *ratios])
    return lines
