"""Records of text in engine Succinct, beside RocksDB, WiredTiger and ClickHouse's MergeTree."""

import os
import shutil

from engines import record_stores
from report import progress, table
from tables import packages, reviews, text_sources
from workloads import succinct_goals, succinct_memory, succinct_records, succinct_sql
from workloads.succinct_memory import ALL, SETTINGS
from workloads.succinct_picture import picture
from workloads.succinct_records import Measured

TABLES = (packages, reviews)


def run(bench):
    try:
        paths = _files(bench)
    except text_sources.Missing as missing:
        progress(f"skipped: {missing}")
        return
    os.makedirs(os.path.join(bench.directory, "succinct"))
    part = bench.options.part
    kinds, notes = ([], []) if part == "sql" else record_stores.kinds(bench.root, bench.options.cache)
    names = [kind.name for kind in kinds]
    stores, engines = {}, {}
    for module, path in paths.items():
        stores[module.NAME] = Measured()
        for kind in kinds:
            _store(bench, module, path, kind, stores[module.NAME])
        engines[module.NAME] = succinct_sql.Found() if part == "records" else succinct_sql.measure(bench, module, path)
    sizes = {module.NAME: os.path.getsize(path) for module, path in paths.items()}
    _report_stores(bench.report, names, notes, sizes, stores, engines)
    # rocksdict is RocksDB once more, through Python.
    shown = [kind.name for kind in kinds if kind.has_threads]
    drawn = bench.options.picture and picture(shown, sizes[reviews.NAME], stores[reviews.NAME])
    if drawn:
        with open(bench.options.picture, "w", encoding="utf-8") as file:
            file.write(drawn)
    for module in TABLES:
        found = engines[module.NAME]
        bench.report.section(f"Succinct: {module.NAME} in SQL", found.times.table(), found.times.host())
    goals = succinct_goals.all_goals(bench.options.threads, sizes, stores, engines)
    bench.report.section("Succinct: goals", goals.table())


def _files(bench):
    """The path of each table's text."""

    def sources():
        return text_sources.lines(bench.root), text_sources.packages()

    return {module: module.write(bench.options.cache, bench.options.size, sources) for module in TABLES}


def _store(bench, module, path, kind, measured):
    """All about a store of a table. Only reviews are read with little memory, and written."""
    directory = os.path.join(bench.directory, "succinct", f"{module.NAME} {kind.name}")
    store = record_stores.RecordStore(kind, directory, module, path)
    size = os.path.getsize(path)
    succinct_records.load(store, size, measured)
    if measured.get("load", store.name, "size") is not None:
        is_reviews = module is reviews
        succinct_records.read(store, size, bench.options.seconds, measured, SETTINGS if is_reviews else [ALL])
        if is_reviews and kind.has_threads:
            succinct_records.write(store, size, measured)
    shutil.rmtree(directory)


def _report_stores(report, names, notes, sizes, stores, engines):
    shown = " and ".join(f"{name} of {size / 1e9:.3g} GB" for name, size in sizes.items())
    report.section(f"Succinct: {shown}", _size_table(names, sizes, stores, engines), *notes)
    for name, measured in stores.items():
        report.section(f"Succinct: {name}, extraction", succinct_records.extraction_table(names, measured))
    measured = stores[reviews.NAME]
    tables = [succinct_records.read_table(memory, names, measured) for memory in SETTINGS]
    report.section("Succinct: reviews, reading", succinct_memory.stated(), *tables)
    report.section("Succinct: reviews, writing", succinct_records.write_table(names, measured))


def _size_table(names, sizes, stores, engines):
    """Bytes on disk and seconds of loading, of the stores and of the tables in SQL."""
    head = [""]
    rows = {name: [name] for name in [*names, *succinct_sql.SHOWN.values()]}
    for table_name, size in sizes.items():
        head += [f"{table_name}: MB on disk", "of the text", "load, s"]
        for name in names:
            measured = stores[table_name]
            rows[name] += _size_cells(size, measured.get("load", name, "size"), measured.get("load", name, "seconds"))
        for engine, name in succinct_sql.SHOWN.items():
            figures = engines[table_name].figures.get(engine, {})
            seconds = figures.get("load", 0) + figures.get("optimize", 0)
            rows[name] += _size_cells(size, figures.get("size"), seconds)
    return table(head, list(rows.values()))


def _size_cells(size, on_disk, seconds):
    if on_disk is None:
        return ["", "", ""]
    return [f"{on_disk / 1e6:,.1f}", f"{on_disk / size:.3f}", f"{seconds:,.1f}"]
