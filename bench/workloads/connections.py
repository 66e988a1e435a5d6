"""Small queries from many connections at once, over each protocol: queries a second, latency, errors, memory."""

import json
import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager

import machine
from engines.failure import Failed
from report import progress, table

KEYS = 1_000_000
PROTOCOLS = {"http": "http", "native": "tcp", "postgres": "postgresql"}
ASK = "SELECT v FROM kv WHERE k = %d"
POSTGRES_ROLE = "postgres"


def run(bench):
    client = _client(bench)
    if client is None:
        bench.report.section("Connections: not measured", "there is no Go (https://go.dev/dl/)")
        return
    rows = []
    with bench.opened("connections", "basalt") as (ours,):
        ours.timed("CREATE TABLE kv (k UInt64, v String) ENGINE = EmbeddedRocksDB PRIMARY KEY k")
        ours.timed(f"INSERT INTO kv SELECT number, toString(cityHash64(number)) FROM numbers({KEYS})")
        for protocol, scheme in PROTOCOLS.items():
            address = ours.addresses[scheme]
            if protocol == "postgres":
                address = f"postgres://default@{address}/default?sslmode=disable"
            # The first queries make threads, caches and buffers.
            _ask(client, bench, protocol, address, bench.options.connections * 200)
            before = machine.memory_bytes(ours.pid)
            found = _ask(client, bench, protocol, address, bench.options.small_queries)
            grown = machine.memory_bytes(ours.pid) - before
            rows.append(_row(f"basalt, {protocol}", found, f"{grown / 1e6:+.1f}"))
    with _postgres(bench) as address:
        if address:
            found = _ask(client, bench, "postgres", address, bench.options.small_queries)
            rows.append(_row("PostgreSQL, postgres", found, ""))
    head = ["server, protocol", "queries", "errors", "queries/s", "median ms", "p99 ms", "max ms", "memory, MB"]
    bench.report.section(f"{bench.options.connections} connections, one key each query", table(head, rows))


def _client(bench):
    if shutil.which("go") is None:
        return None
    source = os.path.join(bench.root, "bench", "programs", "small_queries")
    program = os.path.join(bench.directory, "small_queries")
    subprocess.run(["go", "build", "-o", program, "."], cwd=source, check=True)
    return program


def _ask(client, bench, protocol, address, queries):
    numbers = [str(number) for number in (bench.options.connections, queries, KEYS)]
    done = subprocess.run([client, protocol, address, *numbers, ASK], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failed(done.stderr)
    found = json.loads(done.stdout)
    progress(f"{protocol}: {found}")
    return found


def _row(name, found, grown):
    rate = found["queries"] / found["seconds"]
    times = [f"{found[key]:.2f}" for key in ("median", "p99", "max")]
    return [name, f"{found['queries']:,}", f"{found['errors']:,}", f"{rate:,.0f}", *times, grown]


@contextmanager
def _postgres(bench):
    """The address of a PostgreSQL with the same table; None without its programs."""
    found = sorted(_versions(), key=lambda path: int(path.split("/")[4]))
    if not found:
        progress("there is no PostgreSQL (apt-get install postgresql)")
        yield None
        return
    directory = tempfile.mkdtemp(prefix="basalt-bench-postgres-")
    shutil.chown(directory, POSTGRES_ROLE if os.geteuid() == 0 else os.getuid())
    tool = lambda name, *arguments: _as_postgres([os.path.join(found[-1], name), *arguments])  # noqa: E731
    data = os.path.join(directory, "data")
    tool("initdb", "-D", data, "-A", "trust", "-U", "default")
    options = f"-k {directory} -c listen_addresses= -c max_connections={bench.options.connections + 10}"
    tool("pg_ctl", "-D", data, "-o", options, "-w", "-l", os.path.join(directory, "log"), "start")
    try:
        address = f"host={directory} user=default dbname=postgres"
        fill = (
            "CREATE TABLE kv (k bigint PRIMARY KEY, v text); "
            f"INSERT INTO kv SELECT n, md5(n::text) FROM generate_series(0, {KEYS - 1}) AS n; VACUUM ANALYZE kv"
        )
        for statement in fill.split("; "):
            tool("psql", "-h", directory, "-U", "default", "-d", "postgres", "-q", "-c", statement)
        yield address
    finally:
        tool("pg_ctl", "-D", data, "-m", "fast", "stop")
        shutil.rmtree(directory, ignore_errors=True)


def _versions():
    root = "/usr/lib/postgresql"
    folders = os.listdir(root) if os.path.isdir(root) else []
    paths = [os.path.join(root, folder, "bin") for folder in folders]
    return [path for path in paths if os.path.exists(os.path.join(path, "initdb"))]


def _as_postgres(command):
    """PostgreSQL does not run as root."""
    before = ["runuser", "-u", POSTGRES_ROLE, "--"] if os.geteuid() == 0 else []
    subprocess.run([*before, *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
