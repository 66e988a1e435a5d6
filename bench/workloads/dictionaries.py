"""Hashed dictionaries: loading, bytes a key, dictGet of keys in several orders, of keys that are not there."""

import os
from functools import partial

from repeated import best, fastest
from report import Times, ratio, shown_ratio, table

# Our layouts. INSTEAD names the layout that the peer has in place of one that it lacks.
LAYOUTS = {
    "HASHED": "HASHED()",
    "SPARSE_HASHED": "SPARSE_HASHED(MAX_LOAD_FACTOR 0.98)",
    "COMPACT_HASHED": "COMPACT_HASHED()",
}
INSTEAD = {("clickhouse", "COMPACT_HASHED"): "HASHED()"}

# Values of row `number`, and what of them a query adds up.
VALUES = {"UInt16": "toUInt16(number)", "UInt64": "sipHash64(number)", "String": "toString(number)"}
ADDED = {"UInt16": "{}", "UInt64": "{}", "String": "length({})"}

# Keys of row `number`, and which of them is asked for by the lookup `number`.
KEYS = {"sequential": "number", "hashed": "cityHash64(number)"}
ORDERS = {
    "sequential": ("sequential", "number % {keys}"),
    "random": ("sequential", "intHash64(number) % {keys}"),
    "hashed": ("hashed", "cityHash64(number % {keys})"),
    "missing": ("hashed", "cityHash64(number % {keys} + {keys})"),
}
LOOKUPS = 10_000_000
# One after the other, and fewer of what takes a minute together: a load pays for memory that its process did not have
# just before, and the host of a virtual machine may take seconds for each gigabyte of it.
LOADS = 3
LOAD_SECONDS_ENOUGH = 60


def run(bench):
    for value in bench.options.values:
        with bench.opened(f"dictionaries-{value}", "basalt", "clickhouse") as engines:
            found = Found([engine.name for engine in engines])
            for engine in engines:
                # The threads that merge what was just inserted would be measured, too.
                engine.timed("SYSTEM STOP MERGES")
                for kind in KEYS:
                    _fill(engine, kind, value, bench.options.keys)
            # Loads would be measured while the system writes back what was inserted.
            os.sync()
            for layout in LAYOUTS:
                for kind in KEYS:
                    _layout(engines, layout, kind, value, bench.options, found)
        bench.report.section(
            f"Dictionaries: UInt64 to {value}",
            found.loads.table("loading, milliseconds"),
            found.loads.host(),
            found.sizes_table(),
            found.lookups.table(f"{LOOKUPS:,} lookups, milliseconds"),
            found.lookups.host(),
        )


class Found:
    """What was measured with values of one type."""

    def __init__(self, engines):
        self.engines = engines
        self.loads, self.lookups = Times(engines), Times(engines)
        # By what was loaded, and engine.
        self.bytes_a_key = {}

    def sizes_table(self):
        rows = [
            [name, *(f"{found[engine]:.1f}" for engine in self.engines), shown_ratio(ratio(found))]
            for name, found in self.bytes_a_key.items()
        ]
        return table(["bytes a key", *self.engines, "ours / best peer"], rows)


def _fill(engine, kind, value, keys):
    engine.timed(f"CREATE TABLE {kind} (Key UInt64, Value {value}) ENGINE = MergeTree ORDER BY Key")
    engine.timed(f"INSERT INTO {kind} SELECT {KEYS[kind]}, {VALUES[value]} FROM numbers({keys})")


def _layout(engines, layout, kind, value, options, found):
    name = f"{layout}, {kind} keys"
    for engine in engines:
        load = best(partial(_load, engine, layout, kind, value), LOADS, LOAD_SECONDS_ENOUGH)
        found.loads.add_run(name, engine.name, load)
    size = "SELECT bytes_allocated / element_count FROM system.dictionaries WHERE name = 'asked'"
    found.bytes_a_key[name] = {engine.name: float(engine.rows(size)[0][0]) for engine in engines}
    for order in [order for order, (of, _) in ORDERS.items() if of == kind]:
        _lookups(engines, layout, order, value, options, found.lookups)
    for engine in engines:
        engine.timed("DROP DICTIONARY asked")


def _load(engine, layout, kind, value):
    """Makes the dictionary; how many seconds it took to load it."""
    clause = INSTEAD.get((engine.name, layout), LAYOUTS[layout])
    engine.timed("DROP DICTIONARY IF EXISTS asked")
    engine.timed(
        f"CREATE DICTIONARY asked (Key UInt64, Value {value}) PRIMARY KEY Key "
        f"SOURCE(CLICKHOUSE(TABLE '{kind}')) LIFETIME(0) LAYOUT({clause})"
    )
    return engine.timed("SYSTEM RELOAD DICTIONARY asked")


def _lookups(engines, layout, order, value, options, lookups):
    key = ORDERS[order][1].format(keys=options.keys)
    added = ADDED[value].format(f"dictGet('asked', 'Value', {key})")
    ask = f"SELECT sum({added}) FROM numbers_mt({LOOKUPS})"
    for threads in sorted({1, options.threads}):
        for engine in engines:
            engine.set("max_threads", threads)
        name = f"{layout}, {order} keys, {threads} thread{'s' if threads > 1 else ''}"
        lookups.add_runs(name, fastest(asking(engines, ask), options.repeats))


def asking(engines, statement):
    """The work to ask each engine, by its name."""
    return {engine.name: partial(engine.timed, statement) for engine in engines}
