"""ClickHouse whole, in the package chdb."""


class Connection:
    def __init__(self, path, threads):
        from chdb import session

        self.session = session.Session(path)
        self.set("max_threads", threads)

    def set(self, name, value):
        self.session.query(f"SET {name} = {value}")

    def run(self, statement):
        """Runs the statement and has its answer as text, as our server sends it."""
        return self.session.query(statement, "TabSeparated").bytes()

    def rows(self, statement):
        text = self.run(statement).decode()
        return [line.split("\t") for line in text.split("\n")[:-1]]

    def version(self):
        import chdb

        server = self.rows("SELECT version()")[0][0]
        return f"{server} (chdb {chdb.__version__})"

    def close(self):
        self.session.close()
