"""Runs the workloads on every engine and prints a table: ours, the peers, the best peer over ours."""

import argparse
import os
import shutil
import struct
import tempfile
import time

import data
import peers

REPEATS = 5

SCANS = [
    ("scan: count where", "SELECT count() FROM visits WHERE AdvEngineID <> 0", None),
    ("scan: three sums", "SELECT sum(AdvEngineID), count(), avg(ResolutionWidth) FROM visits", None),
    (
        "scan: LIKE",
        "SELECT count() FROM visits WHERE URL LIKE '%google%'",
        "SELECT count(*) FROM visits WHERE URL LIKE '%google%'",
    ),
    (
        "scan: group by phrase",
        "SELECT SearchPhrase, count() AS c FROM visits WHERE SearchPhrase <> '' GROUP BY SearchPhrase "
        "ORDER BY c DESC, SearchPhrase LIMIT 10",
        None,
    ),
    ("scan: one user", "SELECT count() FROM visits WHERE UserID = 435090932899640449", None),
]


def main():
    options = parse_options()
    directory = tempfile.mkdtemp(prefix="basalt-bench-")
    try:
        table = Table()
        engines = open_engines(options, directory)
        workloads = {"load": load, "scans": scans, "lookups": lookups, "dictionaries": dictionaries}
        for name, workload in workloads.items():
            if options.only in (None, name) or name == "load":
                workload(options, directory, engines, table)
        table.print(options)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def parse_options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--basalt", required=True)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=2_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["scans", "lookups", "dictionaries"])
    return parser.parse_args()


def open_engines(options, directory):
    path = lambda name: os.path.join(directory, name)
    return [
        peers.Basalt(options.basalt, path("basalt"), options.threads),
        peers.ClickHouse(path("clickhouse"), options.threads),
        peers.DuckDb(path("duck.db"), options.threads),
    ]


class Table:
    """Seconds by workload and engine."""

    def __init__(self):
        self.rows = {}

    def add(self, workload, engine, seconds):
        self.rows.setdefault(workload, {})[engine] = seconds
        print(f"  {workload}: {engine} {seconds * 1000:.2f} ms", flush=True)

    def print(self, options):
        engines = ["basalt", "clickhouse", "duckdb", "rocksdict", "plyvel"]
        print(f"\n{options.rows} rows, {options.keys} keys, {options.threads} threads; milliseconds, best of {REPEATS}\n")
        print("| workload | " + " | ".join(engines) + " | best peer / ours |")
        print("|---" * (len(engines) + 2) + "|")
        for workload, found in self.rows.items():
            ours = found.get("basalt")
            others = [seconds for engine, seconds in found.items() if engine != "basalt"]
            ratio = f"{min(others) / ours:.2f}" if ours and others else ""
            cells = [f"{found[engine] * 1000:.2f}" if engine in found else "" for engine in engines]
            print(f"| {workload} | " + " | ".join(cells) + f" | {ratio} |")


def load(options, directory, engines, table):
    path = os.path.join(directory, "visits.tsv")
    data.write_tsv(path, options.rows)
    print(f"{path}: {os.path.getsize(path) / 1e6:.0f} MB")
    ours, clickhouse, duck = engines
    create = f"CREATE TABLE visits ({data.CLICKHOUSE_COLUMNS}) ENGINE = MergeTree ORDER BY (CounterID, EventTime)"
    seconds = ours.run([create, f"INSERT INTO visits FROM INFILE '{path}' FORMAT TabSeparated"])
    table.add("load TSV", ours.name, seconds[1])
    structure = data.CLICKHOUSE_COLUMNS.replace("\n", " ").strip()
    seconds = clickhouse.run([create, f"INSERT INTO visits SELECT * FROM file('{path}', 'TabSeparated', '{structure}')"])
    table.add("load TSV", clickhouse.name, seconds[1])
    seconds = duck.run([
        f"CREATE TABLE visits ({data.DUCKDB_COLUMNS})",
        f"INSERT INTO visits SELECT * FROM read_csv('{path}', delim='\t', quote='', escape='', header=false, "
        f"columns={duck_columns()}) ORDER BY CounterID, EventTime",
    ])
    table.add("load TSV", duck.name, seconds[1])
    counts = {engine.name: engine.answer("SELECT count(*) FROM visits") for engine in engines}
    assert len(set(counts.values())) == 1, counts


def duck_columns():
    pairs = [column.split() for column in data.DUCKDB_COLUMNS.replace("\n", " ").split(",")]
    return "{" + ", ".join(f"'{name}': '{kind}'" for name, kind in pairs) + "}"


def scans(options, directory, engines, table):
    for name, statement, for_duck in SCANS:
        duck_statement = for_duck or statement.replace("count()", "count(*)")
        answers = set()
        for engine in engines:
            text = duck_statement if engine.name == "duckdb" else statement
            table.add(name, engine.name, min(engine.run([text] * REPEATS)))
            answers.add(engine.answer(text))
        if len(answers) > 1:
            print(f"  answers of `{name}` differ: {answers}")


def lookups(options, directory, engines, table):
    """Rows by random key: 10,000 of `keys`, as one question."""
    ours, clickhouse, _ = engines
    fill = f"INSERT INTO kv SELECT number, toString(cityHash64(number)) FROM numbers({options.keys})"
    create = "CREATE TABLE kv (A UInt64, B String, PRIMARY KEY A) ENGINE = EmbeddedRocksDB"
    ask = f"SELECT count() FROM kv WHERE A IN (SELECT toUInt64(rand64() % {options.keys}) FROM numbers(10000))"
    for engine in (ours, clickhouse):
        text = create if engine is ours else create.replace(", PRIMARY KEY A)", ")") + " PRIMARY KEY A"
        seconds = engine.run([text, fill])
        table.add("key/value load", engine.name, seconds[1])
        table.add("10,000 keys by IN", engine.name, min(engine.run([ask] * REPEATS)))
    library_lookups(options, directory, table)


def library_lookups(options, directory, table):
    import numpy as np
    import plyvel
    import rocksdict

    rng = np.random.default_rng(2)
    pack = struct.Struct(">Q").pack
    asked = [pack(key) for key in rng.integers(0, options.keys, 10_000)]
    rocks = rocksdict.Rdict(os.path.join(directory, "rocksdict"), rocksdict.Options(raw_mode=True))
    level = plyvel.DB(os.path.join(directory, "plyvel"), create_if_missing=True)
    values = [(pack(key), str(key * 0x9E3779B97F4A7C15 % 2**64).encode()) for key in range(options.keys)]
    started = time.perf_counter()
    for first in range(0, len(values), 100_000):
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in values[first : first + 100_000]:
            batch.put(key, value)
        rocks.write(batch)
    table.add("key/value load", "rocksdict", time.perf_counter() - started)
    started = time.perf_counter()
    with level.write_batch() as batch:
        for key, value in values:
            batch.put(key, value)
    table.add("key/value load", "plyvel", time.perf_counter() - started)
    table.add("10,000 keys by IN", "rocksdict", best(lambda: rocks[asked]))
    table.add("10,000 keys by IN", "plyvel", best(lambda: [level.get(key) for key in asked]))
    rocks.close()
    level.close()


def best(work):
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def dictionaries(options, directory, engines, table):
    """dictGet of random keys over hashed layouts."""
    ours, clickhouse, _ = engines
    source = "SOURCE(CLICKHOUSE(TABLE 'ranks'))"
    asks = {}
    setup = [
        "CREATE TABLE ranks (Key UInt64, Value UInt16) ENGINE = MergeTree ORDER BY Key",
        f"INSERT INTO ranks SELECT cityHash64(number), toUInt16(number) FROM numbers({options.keys})",
    ]
    for layout in ("HASHED()", "SPARSE_HASHED(MAX_LOAD_FACTOR 0.98)"):
        name = layout.split("(")[0].lower()
        setup.append(
            f"CREATE DICTIONARY d_{name} (Key UInt64, Value UInt16) PRIMARY KEY Key {source} LIFETIME(0) LAYOUT({layout})"
        )
        count = options.keys
        asks[f"dictGet {name}"] = (
            f"d_{name}",
            f"SELECT sum(dictGet('d_{name}', 'Value', cityHash64(number % {count}))) FROM numbers_mt(10000000)",
        )
    for engine in (ours, clickhouse):
        engine.run(setup)
        for name, (dictionary, ask) in asks.items():
            seconds = engine.run([f"SYSTEM RELOAD DICTIONARY {dictionary}"] + [ask] * REPEATS)
            table.add(name.replace("dictGet", "load"), engine.name, seconds[0])
            table.add(name, engine.name, min(seconds[1:]))


if __name__ == "__main__":
    main()
