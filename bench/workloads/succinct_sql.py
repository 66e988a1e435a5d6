"""Text tables in SQL, ours of engine Succinct and ClickHouse's: loads, bytes on disk, one row, regular expressions."""

import machine
from engines.failure import Failed
from repeated import fastest
from report import Times, progress

ASKED = 100
# Patterns by what they are, for the text of each table. Its words are those of `text_sources`.
PATTERNS = {
    "reviews": {
        "literal": "documentation",
        "alternation": "library|Sprache|furiously",
        "character class": "[0-9]{4} [a-z]+ [A-Z]",
        "case-insensitive": "(?i)carnegie mellon",
        "selective literal": "Kinzigtalbahn",
    },
    "packages": {
        "literal": "documentation",
        "alternation": "libssl3|libcurl4|zlib1g",
        "character class": "Installed-Size: [0-9]{6};",
        "case-insensitive": "(?i)debian perl group",
        "selective literal": "libobject-forkaware-perl",
    },
}
SELECTIVE = "selective literal"
# The tables by their engine.
SHOWN = {"basalt": "Succinct in SQL, trigrams", "clickhouse": "MergeTree in SQL"}


class Found:
    """What was measured of one table."""

    def __init__(self):
        self.times = Times(["basalt", "clickhouse"])
        # Of each engine, by name.
        self.figures = {}

    def figure(self, engine, name):
        return self.figures.get(engine, {}).get(name)


def measure(bench, module, path):
    found, loaded = Found(), []
    with bench.opened(f"succinct/{module.NAME}", "basalt", "clickhouse") as engines:
        for engine in engines:
            try:
                found.figures[engine.name] = load(engine, module, path)
                loaded.append(engine)
            except Failed as failure:
                progress(f"{module.NAME}: {engine.name} fails: {failure}")
        one_row(loaded, module, path, found.times)
        regular_expressions(loaded, module, bench.options, found.times)
    return found


def create(engine, module):
    if engine.name == "basalt":
        index = f"INDEX grams {module.TEXT} TYPE trigram"
        return f"CREATE TABLE {module.NAME} ({module.COLUMNS}, {index}) ENGINE = Succinct PRIMARY KEY ({module.KEY})"
    return f"CREATE TABLE {module.NAME} ({module.COLUMNS}) ENGINE = MergeTree ORDER BY ({module.KEY})"


def load(engine, module, path):
    """Makes the table and fills it: the figures of loading and of OPTIMIZE FINAL, and the bytes on disk."""
    engine.timed(create(engine, module))
    empty = machine.tree_bytes(engine.path)
    names = ", ".join(column.split()[0] for column in module.COLUMNS.split(", "))
    source = f"file('{path}', 'TabSeparated', '{module.FILE_COLUMNS}')"
    figures = {"load": engine.timed(f"INSERT INTO {module.NAME} SELECT {names} FROM {source}")}
    # The process is new, so that its memory is that of the merge alone.
    engine.restart()
    engine.timed("SELECT 1")
    idle, used = machine.memory_bytes(engine.pid), machine.processor_seconds(engine.pid)
    with machine.MemoryPeak(engine.pid) as memory:
        figures["optimize"] = engine.timed(f"OPTIMIZE TABLE {module.NAME} FINAL")
    figures["processors"] = machine.processor_seconds(engine.pid) - used
    figures["memory"] = memory.bytes - idle
    engine.restart()
    figures["rows"] = int(engine.rows(f"SELECT count() FROM {module.NAME}")[0][0])
    figures["size"] = _bytes_on_disk(engine, module, empty)
    progress(f"{module.NAME}: {engine.name}: " + ", ".join(f"{name} {value:.4g}" for name, value in figures.items()))
    return figures


def _bytes_on_disk(engine, module, empty):
    """ClickHouse keeps merged parts for a while; they do not count."""
    if engine.name == "basalt":
        return machine.tree_bytes(engine.path) - empty
    asked = f"SELECT sum(bytes_on_disk) FROM system.parts WHERE active AND table = '{module.NAME}'"
    return int(engine.rows(asked)[0][0])


def one_row(engines, module, path, times):
    """Rows by key, a statement for each."""
    keys = module.KEY.split(", ")
    with open(path, encoding="utf-8") as file:
        rows = [file.readline().split("\t", len(keys))[: len(keys)] for _ in range(ASKED)]
    for engine in engines:
        seconds = 0
        for row in rows:
            condition = " AND ".join(f"{key} = '{value}'" for key, value in zip(keys, row))
            statement = f"SELECT * FROM {module.NAME} WHERE {condition}"
            # The first time pays for what is not in memory yet.
            engine.timed(statement)
            seconds += engine.timed(statement)
        times.add(f"{module.NAME}: one row by key", engine.name, seconds / ASKED)


def regular_expressions(engines, module, options, times):
    """Times of counts of matching rows, where the engines count the same."""
    for threads in sorted({1, options.threads}):
        for engine in engines:
            engine.set("max_threads", threads)
            # A second run would read only the granules in which the first one has found rows.
            engine.set("use_query_condition_cache", 0)
        for what, pattern in PATTERNS[module.NAME].items():
            statement = f"SELECT count() FROM {module.NAME} WHERE match({module.TEXT}, '{pattern}')"
            if not _are_equal(engines, statement):
                continue
            works = {engine.name: lambda engine=engine: engine.timed(statement) for engine in engines}
            times.add_runs(pattern_name(module.NAME, what, threads), fastest(works, options.repeats))


def pattern_name(table, what, threads):
    # A bar would end the cell of a Markdown table.
    pattern = PATTERNS[table][what].replace("|", r"\|")
    return f"{table}: {what} `{pattern}`, {threads} thread{'s' if threads > 1 else ''}"


def _are_equal(engines, statement):
    answers = {engine.name: engine.rows(statement)[0][0] for engine in engines}
    progress(f"{statement}: {answers}")
    return len(set(answers.values())) == 1
