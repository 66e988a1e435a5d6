"""Statements that make a table and load it from a file of tab-separated values, an engine each."""

DUCKDB_TYPES = {
    "Int16": "SMALLINT",
    "Int32": "INTEGER",
    "Int64": "BIGINT",
    "UInt8": "UTINYINT",
    "UInt16": "USMALLINT",
    "UInt32": "UINTEGER",
    "UInt64": "UBIGINT",
    "Float64": "DOUBLE",
    "Date": "DATE",
    "DateTime": "TIMESTAMP",
    "String": "VARCHAR",
}


def create(engine, table, columns, key, settings=""):
    """CREATE TABLE with ClickHouse's `columns`; DuckDB's tables have no key."""
    if engine.name == "duckdb":
        declared = ", ".join(f"{name} {kind}" for name, kind in _duck_columns(columns))
        return f"CREATE TABLE {table} ({declared})"
    tail = f" SETTINGS {settings}" if settings else ""
    return f"CREATE TABLE {table} ({columns}) ENGINE = MergeTree ORDER BY ({key}){tail}"


def load(engine, table, columns, key, path):
    """INSERT of the whole file; DuckDB sorts in its query."""
    if engine.name == "basalt":
        return f"INSERT INTO {table} FROM INFILE '{path}' FORMAT TabSeparated"
    if engine.name == "clickhouse":
        structure = " ".join(columns.split())
        return f"INSERT INTO {table} SELECT * FROM file('{path}', 'TabSeparated', '{structure}')"
    pairs = ", ".join(f"'{name}': '{kind}'" for name, kind in _duck_columns(columns))
    read = f"read_csv('{path}', delim='\t', quote='', escape='', nullstr='\\N', header=false, columns={{{pairs}}})"
    return f"INSERT INTO {table} SELECT * FROM {read} ORDER BY {key}"


def _duck_columns(columns):
    pairs = [column.split() for column in columns.split(",")]
    return [(name, DUCKDB_TYPES[kind]) for name, kind in pairs]
