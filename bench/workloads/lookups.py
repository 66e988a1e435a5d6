"""Rows by random key: 10,000 of them as one question, in SQL and in the libraries of keys."""

import os
import struct
import time

from repeated import best
from report import Times

ASKED = 10_000
BATCH = 100_000
PEERS = ("clickhouse", "rocksdict", "plyvel")


def run(bench):
    times = Times(["basalt", *PEERS])
    keys, repeats = bench.options.keys, bench.options.repeats
    with bench.opened("lookups", "basalt", "clickhouse") as engines:
        for engine in engines:
            _sql(engine, times, keys, repeats)
        _libraries(os.path.join(bench.directory, "lookups"), times, keys, repeats)
    bench.report.section("Keys and values", times.table(), times.host())


def _sql(engine, times, keys, repeats):
    declared = "A UInt64, B String"
    # Where ClickHouse takes the key; ours takes it inside too.
    engine.timed(f"CREATE TABLE kv ({declared}) ENGINE = EmbeddedRocksDB PRIMARY KEY A")
    fill = f"INSERT INTO kv SELECT number, toString(cityHash64(number)) FROM numbers({keys})"
    times.add("load", engine.name, engine.timed(fill))
    asked = f"SELECT toUInt64(rand64() % {keys}) FROM numbers({ASKED})"
    ask = f"SELECT count() FROM kv WHERE A IN ({asked})"
    times.add_run("10,000 keys by IN", engine.name, best(lambda: engine.timed(ask), repeats))


def _libraries(directory, times, keys, repeats):
    import numpy as np
    import plyvel
    import rocksdict

    pack = struct.Struct(">Q").pack
    asked = [pack(key) for key in np.random.default_rng(2).integers(0, keys, ASKED)]
    values = [(pack(key), str(key * 0x9E3779B97F4A7C15 % 2**64).encode()) for key in range(keys)]
    rocks = rocksdict.Rdict(os.path.join(directory, "rocksdict"), rocksdict.Options(raw_mode=True))
    level = plyvel.DB(os.path.join(directory, "plyvel"), create_if_missing=True)
    times.add("load", "rocksdict", _seconds(lambda: _fill_rocks(rocksdict, rocks, values)))
    times.add("load", "plyvel", _seconds(lambda: _fill_level(level, values)))
    work = {"rocksdict": lambda: rocks[asked], "plyvel": lambda: [level.get(key) for key in asked]}
    for name, lookup in work.items():
        times.add_run("10,000 keys by IN", name, best(lambda: _seconds(lookup), repeats))
    rocks.close()
    level.close()


def _fill_rocks(rocksdict, rocks, values):
    for first in range(0, len(values), BATCH):
        batch = rocksdict.WriteBatch(raw_mode=True)
        for key, value in values[first : first + BATCH]:
            batch.put(key, value)
        rocks.write(batch)


def _fill_level(level, values):
    with level.write_batch() as batch:
        for key, value in values:
            batch.put(key, value)


def _seconds(work):
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
