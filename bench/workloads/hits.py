"""ClickBench's 43 queries over 105 columns: sizes, loading, answers, times hot and cold."""

import os
import tomllib

import machine
from report import milliseconds, progress, table
from tables import hits, text_file
from workloads import hits_answers, hits_times

QUERIES = os.path.join(os.path.dirname(os.path.dirname(__file__)), "queries", "hits.toml")


def run(bench):
    script = hits.generator(bench.root)
    if script is None:
        progress("skipped: there is no shared/tools/gen_hits.py next to the checkout (BASALT_SHARED names its folder)")
        return
    options = bench.options
    path = hits.write_tsv(script, options.cache, options.rows)
    queries = _queries(options.queries)
    with bench.opened("hits") as engines:
        columns, path = hits.columns(script), os.path.abspath(path)
        # Answers alone are compared on the parts as they were inserted: there is more to get wrong.
        rows = [_load(engine, columns, path, merging=not options.answers) for engine in engines]
        head = ["105 columns from TSV", "load, s", "OPTIMIZE FINAL, s", "parts", "MB on disk", "MB a million rows"]
        bench.report.section("hits: load and size", table(head, [_size_cells(row, options.rows) for row in rows]))
        verdicts = hits_answers.compared(engines, queries)
        hits_answers.report(bench.report, verdicts)
        if not options.answers:
            hits_times.hot(bench, engines, queries, verdicts)
        if options.cold:
            hits_times.cold(bench, engines, queries, verdicts)


def _queries(numbers):
    with open(QUERIES, "rb") as file:
        found = tomllib.load(file)["query"]
    return {number: found[number] for number in (range(len(found)) if numbers is None else numbers)}


def _load(engine, columns, path, merging):
    """Loads the file and, with `merging`, merges the parts; what that took and left on disk."""
    engine.timed(text_file.create(engine, "hits", columns, hits.KEY))
    seconds = engine.timed(text_file.load(engine, "hits", columns, hits.KEY, path))
    progress(f"load: {engine.name} {milliseconds(seconds)} ms")
    if engine.name == "duckdb":
        engine.timed("CHECKPOINT")
        return engine.name, seconds, None, None, machine.tree_bytes(engine.path)
    parts = "FROM system.parts WHERE table = 'hits' AND active"
    before = engine.rows(f"SELECT count() {parts}")[0][0]
    merging = engine.timed("OPTIMIZE TABLE hits FINAL") if merging else None
    size = int(engine.rows(f"SELECT sum(bytes_on_disk) {parts}")[0][0])
    return engine.name, seconds, merging, before, size


def _size_cells(row, rows):
    name, seconds, merging, parts, size = row
    merging = "" if merging is None else f"{merging:.1f}"
    return [name, f"{seconds:.1f}", merging, parts or "", f"{size / 1e6:.0f}", f"{size / rows:.0f}"]
