"""DuckDB on a file."""

import datetime


class Connection:
    def __init__(self, path, threads):
        import duckdb

        self.connection = duckdb.connect(path)
        self.connection.execute(f"SET threads = {threads}")

    def set(self, name, value):
        self.connection.execute(f"SET {name} = {value}")

    def run(self, statement):
        """Runs the statement and has its answer as Python's values."""
        return self.connection.execute(statement).fetchall()

    def rows(self, statement):
        return [[_text(value) for value in row] for row in self.run(statement)]

    def version(self):
        import duckdb

        return duckdb.__version__

    def close(self):
        self.connection.close()


def _text(value):
    """The value as ClickHouse's tab-separated format writes it."""
    match value:
        case None:
            return "\\N"
        case bool():
            return str(int(value))
        case datetime.datetime():
            return value.strftime("%Y-%m-%d %H:%M:%S")
    return str(value)
