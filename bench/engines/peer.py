"""A peer that is a library: it lives in a child process, which takes its times itself."""

import contextlib
import multiprocessing
import time

from engines import clickhouse, duck
from engines.failure import Failed

CONNECTIONS = {"clickhouse": clickhouse.Connection, "duckdb": duck.Connection}


class Peer:
    def __init__(self, name, path, threads):
        self.name = name
        self.path = path
        self.threads = threads
        self.settings = {}
        self.process = None

    def start(self):
        context = multiprocessing.get_context("spawn")
        self.pipe, end = context.Pipe()
        self.process = context.Process(target=_serve, args=(end, self.name, self.path, self.threads))
        self.process.start()
        end.close()
        for name, value in self.settings.items():
            self._ask("set", name, value)

    def stop(self):
        if self.process is None:
            return
        # It may have ended by itself.
        with contextlib.suppress(EOFError, OSError):
            self._ask("close")
        self.process.join(30)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process = None

    def restart(self):
        self.stop()
        self.start()

    @property
    def pid(self):
        return self.process.pid

    def version(self):
        return self._ask("version")

    def set(self, name, value):
        """From now on every statement has this setting."""
        self.settings[name] = value
        self._ask("set", name, value)

    def timed(self, statement):
        """Seconds of the call that runs the statement and has its whole answer."""
        return self._ask("timed", statement)

    def rows(self, statement):
        """The answer, a list of texts a row."""
        return self._ask("rows", statement)

    def _ask(self, verb, *arguments):
        self.pipe.send((verb, arguments))
        done, answer = self.pipe.recv()
        if not done:
            raise Failed(answer)
        return answer


def _serve(pipe, name, path, threads):
    """The child: answers until it is told to close."""
    connection = CONNECTIONS[name](path, threads)
    verbs = {
        "timed": lambda statement: _timed(connection, statement),
        "rows": lambda statement: connection.rows(statement),
        "set": lambda name, value: connection.set(name, value),
        "version": lambda: connection.version(),
        "close": lambda: connection.close(),
    }
    verb = ""
    while verb != "close":
        verb, arguments = pipe.recv()
        try:
            answer = (True, verbs[verb](*arguments))
        except Exception as error:  # Whatever a peer throws is its answer.
            answer = (False, str(error))
        pipe.send(answer)


def _timed(connection, statement):
    started = time.perf_counter()
    connection.run(statement)
    return time.perf_counter() - started
