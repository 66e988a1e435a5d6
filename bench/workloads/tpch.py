"""TPC-H's 22 queries: answers and times."""

import os
import tomllib

from answers import SAME, TIES, compare, without_limit
from engines.failure import Failed
from repeated import best
from report import Times, geometric_mean, progress, ratio, table
from tables import tpch

QUERIES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "queries", "tpch.toml")


def run(bench):
    directory = tpch.write_csv(bench.options.cache, bench.options.scale)
    with open(QUERIES, "rb") as file:
        queries = tomllib.load(file)["query"]
    if bench.options.queries is not None:
        queries = {number: queries[number - 1] for number in bench.options.queries}
    else:
        queries = dict(enumerate(queries, 1))
    with bench.opened("tpch") as engines:
        for engine in engines:
            _load(engine, directory)
        verdicts = {number: _verdicts(engines, number, query) for number, query in queries.items()}
        times = Times([engine.name for engine in engines])
        for number, query in queries.items():
            for engine in engines:
                _time(bench, times, number, engine, query["sql"])
        _report(bench, times, verdicts)


def _load(engine, directory):
    for name in tpch.TABLES:
        engine.timed(tpch.create(engine, name))
        engine.timed(tpch.load(engine, name, directory))
    progress(f"loaded: {engine.name}")


def _verdicts(engines, number, query):
    """By engine's name: `SAME`, `TIES`, or how its answer differs from ClickHouse's."""
    expected = next(engine for engine in engines if engine.name == "clickhouse")
    answer = expected.rows(query["sql"])
    verdicts = {}
    for engine in engines:
        if engine is expected or (engine.name == "duckdb" and "not_duckdb" in query):
            continue
        try:
            found = engine.rows(query["sql"])
            whole = lambda: expected.rows(without_limit(query["sql"]))  # noqa: E731
            verdicts[engine.name] = compare(found, answer, query.get("order", []), whole)
        except Failed as failure:
            verdicts[engine.name] = f"fails: {failure}"
        if verdicts[engine.name] not in (SAME, TIES):
            progress(f"query {number}: {engine.name}: {verdicts[engine.name]}")
    return verdicts


def _time(bench, times, number, engine, statement):
    try:
        times.add_run(f"{number}", engine.name, best(lambda: engine.timed(statement), bench.options.repeats))
    except Failed as failure:
        progress(f"query {number}: {engine.name} fails: {str(failure)[:200]}")


def _report(bench, times, verdicts):
    alike = sum(found["basalt"] in (SAME, TIES) for found in verdicts.values())
    line = f"Basalt answers {alike} of {len(verdicts)} queries as ClickHouse does."
    wrong = [
        [str(number), name, f"`{verdict}`".replace("|", "\\|").replace("\n", " ")]
        for number, found in verdicts.items()
        for name, verdict in found.items()
        if verdict not in (SAME, TIES)
    ]
    answers = table(["query", "engine", "not as ClickHouse"], wrong) if wrong else ""
    known = [value for value in map(ratio, times.rows.values()) if value is not None]
    mean = f"Geometric mean of ours / best peer: {geometric_mean(known):.2f}." if known else ""
    title = f"TPC-H at scale {bench.options.scale}"
    bench.report.section(title, line, answers, times.table("query, milliseconds"), mean, times.host())
