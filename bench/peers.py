"""One class an engine: each runs SQL and says how many seconds it took."""

import subprocess
import time


class Basalt:
    """The `basalt local` tool; it prints the seconds of each statement itself."""

    name = "basalt"

    def __init__(self, binary, directory, threads):
        self.command = [binary, "local", "--path", directory, "--time", f"--max_threads={threads}"]

    def run(self, statements):
        """Runs the statements in one process; the seconds of each."""
        script = ";\n".join(statement.strip().rstrip(";") for statement in statements) + ";\n"
        done = subprocess.run([*self.command, "--query", script], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:])
        seconds = [float(line) for line in done.stderr.split() if is_number(line)]
        if len(seconds) != len(statements):
            raise RuntimeError(f"{len(statements)} statements, {len(seconds)} times: {done.stderr[-500:]}")
        return seconds

    def answer(self, statement):
        done = subprocess.run([*self.command, "--query", statement], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip()[-2000:])
        return done.stdout.strip()


class ClickHouse:
    """ClickHouse whole, in the package chdb."""

    name = "clickhouse"

    def __init__(self, directory, threads):
        from chdb import session

        self.session = session.Session(directory)
        self.session.query(f"SET max_threads = {threads}")
        self.threads = threads

    def run(self, statements):
        seconds = []
        for statement in statements:
            started = time.perf_counter()
            self.session.query(statement, "Null")
            seconds.append(time.perf_counter() - started)
        return seconds

    def answer(self, statement):
        return str(self.session.query(statement, "TabSeparated")).strip()


class DuckDb:
    name = "duckdb"

    def __init__(self, path, threads):
        import duckdb

        self.connection = duckdb.connect(path)
        self.connection.execute(f"SET threads = {threads}")

    def run(self, statements):
        seconds = []
        for statement in statements:
            started = time.perf_counter()
            self.connection.execute(statement).fetchall()
            seconds.append(time.perf_counter() - started)
        return seconds

    def answer(self, statement):
        rows = self.connection.execute(statement).fetchall()
        return "\n".join("\t".join(str(value) for value in row) for row in rows)


def is_number(text):
    try:
        float(text)
        return True
    except ValueError:
        return False
