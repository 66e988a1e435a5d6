"""Basalt: `basalt server`, asked over one HTTP connection that stays open."""

import http.client
import os
import re
import subprocess
import time
import urllib.parse

from engines.failure import Failed

ANSWER_SECONDS_MAX = 600
START_SECONDS_MAX = 120
PINGS = 200


class Basalt:
    name = "basalt"

    def __init__(self, binary, path, threads):
        self.binary = binary
        self.path = path
        self.log = f"{path}.log"
        self.settings = {"max_threads": threads}
        self.process = None

    def start(self):
        """Starts the server, connects, and measures what a round trip costs that does nothing."""
        with open(self.log, "wb") as log:
            command = [self.binary, "server", "--path", self.path, "--user-files-path", "/"]
            ports = [f"--{name}-port=auto" for name in ("http", "tcp", "postgres", "redis")]
            self.process = subprocess.Popen(command + ports, stdout=log, stderr=log)
        self.addresses = self._addresses()
        self.connection = http.client.HTTPConnection(self.addresses["http"], timeout=ANSWER_SECONDS_MAX)
        self.round_trip = min(self._timed("GET", "/ping", None)[0] for _ in range(PINGS))

    def stop(self):
        if self.process is None:
            return
        self.connection.close()
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process = None

    def restart(self):
        self.stop()
        self.start()

    @property
    def pid(self):
        return self.process.pid

    def version(self):
        return self.rows("SELECT version()")[0][0]

    def set(self, name, value):
        """From now on every statement has this setting."""
        self.settings[name] = value

    def timed(self, statement):
        """Seconds from the statement's text to the last byte of its answer, less an empty round trip."""
        return max(0.0, self._run(statement)[0] - self.round_trip)

    def timed_transfer(self, statement, body=b""):
        """Seconds of a statement with data, or of one whose answer is read and not kept."""
        target = "/?" + urllib.parse.urlencode({**self.settings, "query": statement})
        started = time.perf_counter()
        self.connection.request("POST", target, body)
        response = self.connection.getresponse()
        if response.status != 200:
            raise Failed(response.read().decode(errors="replace").strip())
        piece = bytearray(1 << 20)
        while response.readinto(piece):
            pass
        return max(0.0, time.perf_counter() - started - self.round_trip)

    def answer(self, statement):
        """The bytes of an answer."""
        return self._run(statement)[1]

    def rows(self, statement):
        """The answer, a list of texts a row."""
        text = self._run(statement)[1].decode()
        return [line.split("\t") for line in text.split("\n")[:-1]]

    def _run(self, statement):
        target = "/?" + urllib.parse.urlencode(self.settings)
        try:
            seconds, status, body = self._timed("POST", target, statement.encode())
        except (OSError, http.client.HTTPException) as error:
            tail = self._log_tail()
            self.restart()
            raise Failed(f"the connection broke: {error!r}; the server's last words: {tail}") from error
        if status != 200:
            raise Failed(body.decode(errors="replace").strip())
        return seconds, body

    def _timed(self, method, target, body):
        started = time.perf_counter()
        self.connection.request(method, target, body)
        response = self.connection.getresponse()
        answer = response.read()
        return time.perf_counter() - started, response.status, answer

    def _addresses(self):
        """Host and port by protocol: http, tcp, postgresql, redis."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            with open(self.log, encoding="utf-8", errors="replace") as log:
                ready = re.search(r"ready on (.*), its data", log.read())
            if ready:
                return dict(re.findall(r"(\w+)://([^/\s]+)/", ready[1]))
            if self.process.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError(f"the server did not start: {self._log_tail()}")

    def _log_tail(self):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - 1000))
            return log.read().decode(errors="replace").strip()
