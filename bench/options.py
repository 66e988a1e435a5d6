"""The command line of `bench/compare`."""

import argparse

WORKLOADS = (
    "visits", "hits", "inserts", "lookups", "dictionaries", "direct", "tpch", "succinct", "formats", "connections", "redis"
)
UNITS = {"GiB": 1 << 30, "MiB": 1 << 20, "GB": 10**9, "MB": 10**6}


def parse():
    parser = argparse.ArgumentParser(prog="bench/compare", description="Basalt and its peers, in one run")
    add = parser.add_argument
    add("--basalt", required=True, help="the program")
    add("--only", choices=WORKLOADS, help="one workload; all of them if not given")
    add("--rows", type=int, default=3_000_000, help="rows of the tables")
    add("--keys", type=int, default=2_000_000, help="keys of key/value tables and dictionaries")
    add("--values", type=_names, default=["UInt16"], help="of dictionaries: such as UInt16,UInt64,String")
    add("--scale", type=_scale, default=1, help="scale factor of TPC-H, such as 1 or 0.1")
    add("--size", type=_bytes, default=2 << 30, help="bytes of the text tables of succinct, such as 50MB or 2GiB")
    add("--seconds", type=float, default=5, help="how long succinct reads and writes records in one measurement")
    add("--part", choices=("records", "sql"), help="of succinct: the stores of records, or the tables in SQL")
    add("--picture", help="of succinct: file for a picture of bytes on disk and reads, in SVG")
    add("--threads", type=int, default=2, help="threads that every engine may use")
    add("--connections", type=int, default=64, help="of connections: clients at once")
    add("--small-queries", type=int, default=1_000_000, help="of connections: queries over each protocol")
    add("--redis-commands", type=int, default=300_000, help="of redis: commands in one run; four times as many in pipelines")
    add("--repeats", type=int, default=5, help="runs of a query at least; the fastest counts")
    add("--queries", type=_numbers, help="of hits, from 0, or tpch, from 1: such as 1,3,19-22; all if not given")
    add("--cold", action="store_true", help="time the queries of hits with nothing in memory too; needs root")
    add("--answers", action="store_true", help="compare the answers of hits, without times")
    add("--output", help="file for the report, in addition to standard output")
    add("--directory", help="place of data directories; a temporary one if not given")
    add("--cache", default="target/bench-data", help="place of generated files, which stay")
    return parser.parse_args()


def _scale(text):
    return float(text) if "." in text else int(text)


def _bytes(text):
    for unit, factor in UNITS.items():
        if text.endswith(unit):
            return int(float(text.removesuffix(unit)) * factor)
    return int(text)


def _names(text):
    return text.split(",")


def _numbers(text):
    numbers = []
    for piece in text.split(","):
        first, _, last = piece.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers
