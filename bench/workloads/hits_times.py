"""Times of the 43 queries, hot and cold, and how ours stand to the best peer's."""

import machine
from engines.failure import Failed
from repeated import best
from report import Times, geometric_mean, progress, ratio, table
from workloads.hits_answers import summary

# Where the time goes into reading and filtering, not into aggregation.
SCAN_BOUND = [*range(0, 4), 6, *range(19, 27), *range(36, 43)]

# A disk that others use too is slow once in a while.
COLD_RUNS = 3


def hot(bench, engines, queries, verdicts):
    times = Times([engine.name for engine in engines])
    for number, query in queries.items():
        for engine in engines:
            statement = _statement(engine, query)
            _add(times, number, engine, lambda: best(lambda: engine.timed(statement), bench.options.repeats))
    _report(bench.report, "hits: hot", times, verdicts)


def cold(bench, engines, queries, verdicts):
    if not machine.can_drop_caches():
        progress("cold times are skipped: only root may drop the page cache")
        return
    times = Times([engine.name for engine in engines])
    for number, query in queries.items():
        for engine in engines:
            statement = _statement(engine, query)
            _add(times, number, engine, lambda: best(lambda: _cold_seconds(engine, statement), COLD_RUNS))
    _report(bench.report, "hits: cold", times, verdicts)


def _statement(engine, query):
    return query.get("duckdb", query["sql"]) if engine.name == "duckdb" else query["sql"]


def _add(times, number, engine, work):
    try:
        times.add_run(number, engine.name, work())
    except Failed as failure:
        progress(f"query {number}: {engine.name} fails: {str(failure)[:200]}")


def _cold_seconds(engine, statement):
    """One run with the process new and the page cache empty, but for the program itself."""
    engine.restart()
    engine.timed("SELECT 1")
    machine.drop_caches()
    machine.warm_program(engine.pid)
    return engine.timed(statement)


def _report(report, title, times, verdicts):
    scans, others = Times(times.engines), Times(times.engines)
    for number, found in times.rows.items():
        of = scans if number in SCAN_BOUND else others
        of.rows[f"{number}"] = found
    for part, name in ((scans, "scan-bound queries"), (others, "other queries")):
        if part.rows:
            report.section(f"{title}, {name}", _table(part, verdicts), _mean(part), times.host())


def _table(times, verdicts):
    """The table of times with one more column: is our answer right?"""
    lines = times.table("query, milliseconds").split("\n")
    lines[0] += " our answer |"
    lines[1] += "---|"
    numbers = [int(number) for number in times.rows]
    return "\n".join(lines[:2] + [f"{line} {summary(verdicts[at])} |" for line, at in zip(lines[2:], numbers)])


def _mean(times):
    ratios = {number: ratio(found) for number, found in times.rows.items()}
    known = {number: value for number, value in ratios.items() if value is not None}
    if not known:
        return ""
    worst = max(known, key=known.get)
    over = sum(value > 1.5 for value in known.values())
    return table(
        ["ours / best peer", "value"],
        [
            [f"geometric mean of {len(known)} of {len(ratios)} queries", f"{geometric_mean(known.values()):.2f}"],
            [f"worst: query {worst}", f"{known[worst]:.2f}"],
            ["queries over 1.5", str(over)],
            ["queries ahead (under 1)", str(sum(value < 1 for value in known.values()))],
        ],
    )
