"""Redis' protocol: GET and SET by redis-benchmark, on our server and on a redis-server beside it."""

import shutil
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager

import machine
from report import progress, table

# Clients, and commands that each sends without waiting for replies.
CLIENTS = 50
PIPELINES = (1, 16)
COMMANDS = ("set", "get")
KEYS = 1_000_000
VALUE_BYTES = 20


def run(bench):
    if shutil.which("redis-benchmark") is None or shutil.which("redis-server") is None:
        bench.report.section("Redis: not measured", "there is no redis-server (apt-get install redis-server)")
        return
    ours, peer = {}, {}
    with bench.opened("redis", "basalt") as (engine,):
        port = int(engine.addresses["redis"].rsplit(":", 1)[1])
        _measure(bench, "basalt", port, ours)
        ours["memory"] = machine.memory_bytes(engine.pid)
    with _redis_server() as (port, pid):
        _measure(bench, "redis-server", port, peer)
        peer["memory"] = machine.memory_bytes(pid)
    rows = []
    for pipeline in PIPELINES:
        for command in COMMANDS:
            own, other = ours[command, pipeline], peer[command, pipeline]
            rows.append([f"{command.upper()}, -P {pipeline}", f"{own:,.0f}", f"{other:,.0f}", f"{own / other:.2f}"])
    rows.append(["memory, MB", f"{ours['memory'] / 1e6:,.0f}", f"{peer['memory'] / 1e6:,.0f}", ""])
    head = ["commands a second", "basalt", "redis-server", "ratio"]
    title = f"Redis: {CLIENTS} clients, {KEYS:,} keys, values of {VALUE_BYTES} bytes"
    bench.report.section(title, table(head, rows))


def _measure(bench, name, port, found):
    """The best of the repeats, for each command and pipeline."""
    for pipeline in PIPELINES:
        for command in COMMANDS:
            rates = [_rate(port, command, pipeline, bench.options.redis_commands) for _ in range(bench.options.repeats)]
            found[command, pipeline] = max(rates)
            progress(f"{name}, {command} -P {pipeline}: {[round(rate) for rate in rates]}")


def _rate(port, command, pipeline, commands):
    count = commands * (4 if pipeline > 1 else 1)
    arguments = ["-p", port, "-c", CLIENTS, "-P", pipeline, "-n", count, "-r", KEYS, "-d", VALUE_BYTES, "-t", command]
    done = subprocess.run(
        ["redis-benchmark", *map(str, arguments), "--csv"], capture_output=True, text=True, check=True
    )
    return float(done.stdout.splitlines()[-1].split(",")[1].strip('"'))


@contextmanager
def _redis_server():
    """A redis-server without snapshots, whose log is synced each second, as ours is."""
    directory = tempfile.mkdtemp(prefix="basalt-bench-redis-")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = ["--port", str(port), "--save", "", "--appendonly", "yes", "--appendfsync", "everysec", "--dir", directory]
    with subprocess.Popen(["redis-server", *options], stdout=subprocess.DEVNULL) as process:
        try:
            _wait(port)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait()
            shutil.rmtree(directory, ignore_errors=True)


def _wait(port):
    end = time.monotonic() + 10
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
