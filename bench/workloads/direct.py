"""Dictionaries of layout DIRECT over a key/value table: dictGet of random keys, by their thousands."""

from repeated import fastest
from report import Times
from workloads.dictionaries import ADDED, VALUES, asking

ASKED = (100_000, 1_000_000)
# Keys are spread over the table, and every hundredth is not there.
KEY = "intHash64(number) % {keys} + (number % 100 = 0) * {keys}"


def run(bench):
    with bench.opened("direct", "basalt", "clickhouse") as engines:
        times = Times([engine.name for engine in engines])
        for value in bench.options.values:
            for engine in engines:
                _fill(engine, value, bench.options, times)
            _lookups(engines, value, bench.options, times)
    bench.report.section("Dictionaries: DIRECT over EmbeddedRocksDB", times.table(), times.host())


def _fill(engine, value, options, times):
    name = f"rows_{value}"
    declared = f"Key UInt64, Value {value}"
    engine.timed(f"CREATE TABLE {name} ({declared}) ENGINE = EmbeddedRocksDB PRIMARY KEY Key")
    fill = f"INSERT INTO {name} SELECT number, {VALUES[value]} FROM numbers({options.keys})"
    times.add(f"loading {options.keys:,} rows of {value}", engine.name, engine.timed(fill))
    engine.timed(
        f"CREATE DICTIONARY asked_{value} ({declared}) PRIMARY KEY Key "
        f"SOURCE(CLICKHOUSE(TABLE '{name}')) LAYOUT(DIRECT())"
    )


def _lookups(engines, value, options, times):
    added = ADDED[value].format(f"dictGet('asked_{value}', 'Value', {KEY.format(keys=options.keys)})")
    for threads in sorted({1, options.threads}):
        for engine in engines:
            engine.set("max_threads", threads)
        for asked in ASKED:
            ask = f"SELECT sum({added}) FROM numbers_mt({asked})"
            shown = f"dictGet of {value} by {asked:,} keys, {threads} thread{'s' if threads > 1 else ''}"
            times.add_runs(shown, fastest(asking(engines, ask), options.repeats))
