"""Stores of records that are libraries: each verb is a run of a program, which prints its figures."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

from engines.failure import Failed

RUN_SECONDS_MAX = 3600


@dataclass
class Kind:
    """A library with its options."""

    name: str
    # The program and its first arguments.
    program: list
    options: dict = field(default_factory=dict)
    # Whether the program runs more than one thread, and writes.
    has_threads: bool = True
    # Whether it is told the types of the columns.
    has_types: bool = False
    # Whether a write may also be on the disk before it returns. Ours always is.
    can_sync: bool = False


class RecordStore:
    """A store in a directory of its own, filled from a file of tab-separated values."""

    def __init__(self, kind, directory, table, file):
        self.kind = kind
        self.name = kind.name
        self.directory = directory
        self.fixed = {"directory": directory, "file": file, "key_columns": len(table.KEY.split(", ")), **kind.options}
        if kind.has_types:
            self.fixed["columns"] = table.FILE_COLUMNS
        os.makedirs(directory)

    def run(self, verb, **options):
        """The figures of one run, by name."""
        words = [*self.kind.program, verb]
        for name, value in {**self.fixed, **options}.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        try:
            done = subprocess.run(words, capture_output=True, text=True, timeout=RUN_SECONDS_MAX)
        except subprocess.TimeoutExpired as error:
            raise Failed(f"{self.name}: {verb} takes more than {RUN_SECONDS_MAX} seconds") from error
        if done.returncode != 0:
            raise Failed(f"{self.name}: {verb} ends with {done.returncode}: {done.stderr.strip()[-500:]}")
        pairs = (line.split("\t") for line in done.stdout.splitlines())
        return {name: float(value) for name, value in pairs}


def kinds(root, cache):
    """The libraries that can be measured, and sentences about those that cannot."""
    rocks = [_record_store(root)]
    python = [sys.executable, "-B", os.path.join(root, "bench/programs/python_rocksdb.py")]
    small = {"block_bytes": 4 << 10}
    found = [
        Kind("Succinct", rocks, {"store": "succinct"}, has_types=True),
        Kind("Succinct, one column group", rocks, {"store": "succinct", "grouped": "true"}, has_types=True),
        Kind("RocksDB, LZ4, 4 KiB", rocks, {"compression": "lz4", **small}, can_sync=True),
        Kind("RocksDB, ZSTD, 16 KiB", rocks, {"compression": "zstd", "block_bytes": 16 << 10}),
        Kind("rocksdict, LZ4, 4 KiB", python, {"compression": "lz4", **small}, has_threads=False),
        Kind("rocksdict, Snappy, 4 KiB", python, {"compression": "snappy", **small}, has_threads=False),
    ]
    try:
        found.append(Kind("WiredTiger, Snappy, 4 KiB", [_wiredtiger(root, cache)]))
    except Failed as failure:
        return found, [f"WiredTiger is not measured: {failure}"]
    return found, []


def _record_store(root):
    """The example `record_store` of the crate kv, built unless RECORD_STORE names it."""
    if os.environ.get("RECORD_STORE"):
        return os.environ["RECORD_STORE"]
    command = ["cargo", "build", "--quiet", "--release", "--locked", "-p", "basalt-kv", "--example", "record_store"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"record_store cannot be built: {done.stderr.strip()[-1000:]}")
    target = os.environ.get("CARGO_TARGET_DIR") or os.path.join(root, "target")
    return os.path.join(target, "release", "examples", "record_store")


def _wiredtiger(root, cache):
    """The program of WiredTiger, compiled against the library of the system."""
    source, program = os.path.join(root, "bench/programs/wiredtiger.c"), os.path.abspath(f"{cache}/wiredtiger")
    compiler = shutil.which("cc")
    if compiler is None:
        raise Failed("there is no C compiler")
    command = [compiler, "-O2", "-pthread", source, "-lwiredtiger", "-o", program]
    os.makedirs(cache, exist_ok=True)
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"cc cannot compile it; Debian has it in libwiredtiger-dev ({done.stderr.strip()[:200]})")
    return program
