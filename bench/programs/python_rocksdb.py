"""Measures RocksDB from Python (rocksdict), one thread, with the verbs, options and figures of `record_store`."""

import argparse
import os
import random
import time

import numpy as np
import rocksdict

BATCH_RECORDS = 1000
VALUES = 20_000
BACKGROUND_JOBS = 2
BLOOM_BITS_PER_KEY = 10


def main():
    options = _parse()
    figures = {"load": _load, "mix": _mix, "scan": _scan}[options.verb](options)
    for name, value in figures.items():
        print(f"{name}\t{value}")


def _parse():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("verb", choices=("load", "mix", "scan"))
    add("--directory", required=True)
    add("--file", required=True)
    add("--key-columns", type=int, default=1)
    add("--threads", type=int, choices=(1,), default=1)
    add("--seconds", type=float, default=5)
    add("--warm-seconds", type=float, default=2)
    add("--reads-percent", type=int, choices=(100,), default=100)
    add("--group", help="the memory cgroup that the process joins before it opens the store")
    add("--compression", choices=("lz4", "snappy", "zstd"), default="snappy")
    add("--block-bytes", type=int, default=4096)
    add("--cache-bytes", type=int, default=256 << 20)
    add("--write-buffer-bytes", type=int, default=64 << 20)
    return parser.parse_args()


def _records(options):
    """Keys and values: the first columns of each line, and the others."""
    with open(options.file, "rb") as file:
        for line in file:
            columns = line[:-1].split(b"\t", options.key_columns)
            yield b"\t".join(columns[:-1]), columns[-1]


def _load(options):
    store = _open(options)
    without_log = rocksdict.WriteOptions()
    without_log.disable_wal = True
    started, count = time.perf_counter(), 0
    batch = rocksdict.WriteBatch(raw_mode=True)
    for key, value in _records(options):
        batch.put(key, value)
        count += 1
        if len(batch) == BATCH_RECORDS:
            store.write(batch, without_log)
            batch = rocksdict.WriteBatch(raw_mode=True)
    store.write(batch, without_log)
    store.flush()
    forced = rocksdict.CompactOptions()
    forced.set_bottommost_level_compaction(rocksdict.BottommostLevelCompaction.force())
    store.compact_range(None, None, forced)
    store.close()
    return {"seconds": time.perf_counter() - started, "records": count}


def _mix(options):
    keys = [key for key, _ in _records(options)]
    store = _open_warm(options)
    chance = random.Random(1)
    _read(store, keys, chance, options.warm_seconds)
    seconds, durations, read, missing = _read(store, keys, chance, options.seconds)
    us = np.array(durations) * 1e6
    figures = {"seconds": seconds, "bytes": read, "missing": missing, "reads_count": len(us)}
    quantiles = zip(("median", "p99", "p999"), np.quantile(us, [0.5, 0.99, 0.999]))
    return figures | {"reads_average_us": us.mean()} | {f"reads_{name}_us": value for name, value in quantiles}


def _read(store, keys, chance, seconds):
    clock, count = time.perf_counter, len(keys)
    durations, read, missing = [], 0, 0
    started = now = clock()
    while now - started < seconds:
        key = keys[int(chance.random() * count)]
        before = clock()
        value = store.get(key)
        now = clock()
        durations.append(now - before)
        if value is None:
            missing += 1
        else:
            read += len(value)
    return now - started, durations, read, missing


def _scan(options):
    store = _open_warm(options)
    started, records, read = time.perf_counter(), 0, 0
    for key, value in store.items():
        records += 1
        read += len(key) + len(value)
    return {"seconds": time.perf_counter() - started, "records": records, "bytes": read}


def _open_warm(options):
    """The store, after its files were read once with no more memory than the group has."""
    if options.group:
        with open(os.path.join(options.group, "cgroup.procs"), "w") as file:
            file.write(str(os.getpid()))
    for at, _, names in os.walk(options.directory):
        for name in names:
            with open(os.path.join(at, name), "rb") as file:
                while file.read(1 << 20):
                    pass
    return _open(options)


def _open(options):
    blocks = rocksdict.BlockBasedOptions()
    blocks.set_block_size(options.block_bytes)
    blocks.set_block_cache(rocksdict.Cache(options.cache_bytes))
    blocks.set_bloom_filter(BLOOM_BITS_PER_KEY, False)
    opened = rocksdict.Options(raw_mode=True)
    opened.create_if_missing(True)
    opened.set_block_based_table_factory(blocks)
    opened.set_compression_type(getattr(rocksdict.DBCompressionType, options.compression)())
    opened.set_write_buffer_size(options.write_buffer_bytes)
    opened.set_max_background_jobs(BACKGROUND_JOBS)
    return rocksdict.Rdict(options.directory, opened)


if __name__ == "__main__":
    main()
