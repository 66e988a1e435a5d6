"""Do the engines answer the 43 queries alike? ClickHouse's answers are the expected ones."""

from answers import SAME, TIES, compare, without_limit
from engines.failure import Failed
from report import progress, table


def compared(engines, queries):
    """By query number and engine's name: `SAME`, `TIES`, or what is wrong."""
    expected = next(engine for engine in engines if engine.name == "clickhouse")
    others = [engine for engine in engines if engine is not expected]
    verdicts = {}
    for number, query in queries.items():
        verdicts[number] = {engine.name: _verdict(engine, expected, query) for engine in others}
        for name, verdict in verdicts[number].items():
            if verdict not in (SAME, TIES):
                progress(f"query {number}: {name}: {verdict}")
    return verdicts


def report(report, verdicts):
    wrong = [
        [str(number), name, f"`{verdict}`".replace("|", "\\|").replace("\n", " ")]
        for number, found in verdicts.items()
        for name, verdict in found.items()
        if verdict not in (SAME, TIES)
    ]
    alike = sum(found["basalt"] in (SAME, TIES) for found in verdicts.values())
    line = f"Basalt answers {alike} of {len(verdicts)} queries as ClickHouse does (rows beyond ties may differ)."
    report.section("hits: answers", line, table(["query", "engine", "not as ClickHouse"], wrong) if wrong else "")


def summary(found):
    """One word a query for the table of times."""
    if found["basalt"] not in (SAME, TIES):
        return "**differs**"
    return "equal" if found["basalt"] == SAME else "equal but for ties"


def _verdict(engine, expected, query):
    if engine.name == "duckdb" and "not_duckdb" in query:
        return SAME
    forms = [(query["sql"], query.get("duckdb", query["sql"]), query.get("order", []))]
    if "check" in query:
        forms.append((query["check"], query["check"], query.get("check_order", query.get("order", []))))
    verdicts = [_compare_form(engine, expected, *form, query.get("approximate", False)) for form in forms]
    return next((verdict for verdict in verdicts if verdict not in (SAME, TIES)), max(verdicts, key=len))


def _compare_form(engine, expected, statement, for_duck, order, approximate):
    try:
        found = engine.rows(for_duck if engine.name == "duckdb" else statement)
    except Failed as failure:
        return f"fails: {failure}"
    return compare(
        found,
        expected.rows(statement),
        order,
        lambda: expected.rows(without_limit(statement)),
        approximate,
    )
