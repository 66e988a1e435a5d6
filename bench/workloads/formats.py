"""Five columns out and in, as text, as rows and as columns: what a format costs a client and the server."""

import os

from engines.failure import Failed
from repeated import best
from report import Times, progress, table

FORMATS = ("TabSeparated", "RowBinary", "Native")
COLUMNS = "a UInt64, b Int32, c Float64, d String, e DateTime"
VALUES = (
    "number * 7, toInt32(number % 1000), number / 3, concat('text ', toString(number % 100000)), "
    "toDateTime(1700000000 + number)"
)


def run(bench):
    times = Times(["basalt", "clickhouse"])
    with bench.opened("formats", "basalt", "clickhouse") as (ours, clickhouse):
        for engine in (ours, clickhouse):
            engine.timed(f"CREATE TABLE t ({COLUMNS}) ENGINE = MergeTree ORDER BY a")
            engine.timed(f"INSERT INTO t SELECT {VALUES} FROM numbers({bench.options.rows})")
            engine.timed("OPTIMIZE TABLE t FINAL")
        for name in FORMATS:
            _select(times, ours, clickhouse, name, bench.options.repeats)
        for name in FORMATS:
            _insert(bench, times, ours, clickhouse, name)
    bench.report.section("Formats of clients", times.table(), _over_text(times), times.host())


def _select(times, ours, clickhouse, name, repeats):
    statement = f"SELECT * FROM t FORMAT {name}"
    times.add_run(f"SELECT, {name}", "basalt", best(lambda: ours.timed_transfer(statement), repeats))
    times.add_run(f"SELECT, {name}", "clickhouse", best(lambda: clickhouse.timed(statement), repeats))


def _insert(bench, times, ours, clickhouse, name):
    body = ours.answer(f"SELECT * FROM t FORMAT {name}")
    path = os.path.join(bench.directory, "formats", f"rows.{name}")
    with open(path, "wb") as file:
        file.write(body)
    progress(f"{name}: {len(body):,} bytes")

    def into(engine, insert):
        engine.timed("DROP TABLE IF EXISTS copied")
        engine.timed(f"CREATE TABLE copied ({COLUMNS}) ENGINE = MergeTree ORDER BY a")
        seconds = insert()
        if engine.rows("SELECT count() FROM copied") != engine.rows("SELECT count() FROM t"):
            raise Failed(f"{engine.name} lost rows")
        return seconds

    post = f"INSERT INTO copied FORMAT {name}"
    read = f"INSERT INTO copied SELECT * FROM file('{path}', '{name}', '{COLUMNS}')"
    repeats = bench.options.repeats
    run = best(lambda: into(ours, lambda: ours.timed_transfer(post, body)), repeats)
    times.add_run(f"INSERT, {name}", "basalt", run)
    run = best(lambda: into(clickhouse, lambda: clickhouse.timed(read)), repeats)
    times.add_run(f"INSERT, {name}", "clickhouse", run)
    os.remove(path)


def _over_text(times):
    """A Markdown table: our time in a format over our time in TabSeparated."""
    rows = []
    for name in FORMATS[1:]:
        ratios = [
            f"{times.rows[f'{verb}, {name}']['basalt'] / times.rows[f'{verb}, {FORMATS[0]}']['basalt']:.2f}"
            for verb in ("SELECT", "INSERT")
        ]
        rows.append([name, *ratios])
    return table(["over TabSeparated", "SELECT", "INSERT"], rows)
