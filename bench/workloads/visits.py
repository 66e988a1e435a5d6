"""Nine columns of page views: loading text, and five scans."""

import os

from answers import SAME, compare
from repeated import best
from report import Times, progress
from tables import text_file, visits

KEY = "CounterID, EventTime"
SCANS = {
    "count where": "SELECT count(*) FROM visits WHERE AdvEngineID <> 0",
    "three sums": "SELECT sum(AdvEngineID), count(*), avg(ResolutionWidth) FROM visits",
    "LIKE": "SELECT count(*) FROM visits WHERE URL LIKE '%google%'",
    "group by phrase": "SELECT SearchPhrase, count(*) AS c FROM visits WHERE SearchPhrase <> '' "
    "GROUP BY SearchPhrase ORDER BY c DESC, SearchPhrase LIMIT 10",
    "one user": "SELECT count(*) FROM visits WHERE UserID = 435090932899640449",
}


def run(bench):
    path = os.path.join(bench.directory, "visits.tsv")
    visits.write_tsv(path, bench.options.rows)
    with bench.opened("visits") as engines:
        times = Times([engine.name for engine in engines])
        for engine in engines:
            engine.timed(text_file.create(engine, "visits", visits.COLUMNS, KEY))
            statement = text_file.load(engine, "visits", visits.COLUMNS, KEY, path)
            times.add("load TSV", engine.name, engine.timed(statement))
        for name, statement in SCANS.items():
            _scan(engines, times, name, statement, bench.options.repeats)
    os.remove(path)
    bench.report.section("Page views, nine columns", times.table(), times.host())


def _scan(engines, times, name, statement, repeats):
    answers = {engine.name: engine.rows(statement) for engine in engines}
    for engine in engines:
        times.add_run(name, engine.name, best(lambda: engine.timed(statement), repeats))
        expected = answers["clickhouse"]
        verdict = compare(answers[engine.name], expected, [], lambda: expected)
        if verdict != SAME:
            progress(f"{name}: {engine.name} answers wrong: {verdict}")
