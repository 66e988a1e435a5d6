"""dictGet of random keys over hashed layouts."""

from repeated import best
from report import Times

LAYOUTS = ("HASHED()", "SPARSE_HASHED(MAX_LOAD_FACTOR 0.98)")
LOOKUPS = 10_000_000


def run(bench):
    keys, repeats = bench.options.keys, bench.options.repeats
    with bench.opened("dictionaries", "basalt", "clickhouse") as engines:
        times = Times([engine.name for engine in engines])
        for engine in engines:
            engine.timed("CREATE TABLE ranks (Key UInt64, Value UInt16) ENGINE = MergeTree ORDER BY Key")
            filled = f"SELECT cityHash64(number), toUInt16(number) FROM numbers({keys})"
            engine.timed(f"INSERT INTO ranks {filled}")
            for layout in LAYOUTS:
                _layout(engine, times, layout, keys, repeats)
    bench.report.section("Dictionaries", times.table())


def _layout(engine, times, layout, keys, repeats):
    name = layout.split("(")[0].lower()
    engine.timed(
        f"CREATE DICTIONARY {name} (Key UInt64, Value UInt16) PRIMARY KEY Key "
        f"SOURCE(CLICKHOUSE(TABLE 'ranks')) LIFETIME(0) LAYOUT({layout})"
    )
    times.add(f"load {name}", engine.name, engine.timed(f"SYSTEM RELOAD DICTIONARY {name}"))
    value = f"dictGet('{name}', 'Value', cityHash64(number % {keys}))"
    ask = f"SELECT sum({value}) FROM numbers_mt({LOOKUPS})"
    times.add(f"dictGet {name}", engine.name, best(lambda: engine.timed(ask), repeats))
