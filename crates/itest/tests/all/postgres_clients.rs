//! Python's clients of PostgreSQL: psycopg, asyncpg, SQLAlchemy.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

const PACKAGES: &[&str] = &["psycopg[binary]==3.3.9", "asyncpg==0.32.0", "sqlalchemy==2.1.9"];

/// The beginning of every script.
const OPEN: &str = "
import sys, datetime, decimal, uuid, ipaddress, threading, time, asyncio, socket, struct
port = int(sys.argv[1])
D, tz = decimal.Decimal, datetime.timezone.utc
dsn = f'host=127.0.0.1 port={port} user=default dbname=default'
";

fn run(script: &str) {
    let python = match Python::with("postgres", PACKAGES) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clients of PostgreSQL cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let port = server.postgres_address().port().to_string();
    python.run(&format!("{OPEN}{script}"), &[&port]);
    assert_eq!(server.ask("SELECT count() FROM system.processes"), "1\n");
}

#[test]
fn psycopg_runs_statements_with_parameters() {
    run("
import psycopg
c = psycopg.connect(dsn, autocommit=True)
assert c.info.server_version == 150000 and c.info.parameter_status('server_encoding') == 'UTF8'
c.execute('CREATE TABLE t (id Int64, s String, d Nullable(Decimal(10, 2)), at DateTime64(6, \\'UTC\\')) ENGINE = MergeTree ORDER BY id')
at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, tz)
assert c.execute('INSERT INTO t VALUES (%s, %s, %s, %s)', (1, \"it's\\\\\", D('1.50'), at)).rowcount == 1
assert c.execute('INSERT INTO t (id, s, at) VALUES (%b, %b, %b)', (2, 'b', at)).rowcount == 1
for binary in (False, True):
    cursor = c.cursor(binary=binary)
    rows = cursor.execute('SELECT * FROM t WHERE id >= %s ORDER BY id', (0,)).fetchall()
    assert rows == [(1, \"it's\\\\\", D('1.50'), at), (2, 'b', None, at)], rows
    assert [column.name for column in cursor.description] == ['id', 's', 'd', 'at']
    assert cursor.execute('SELECT s FROM t WHERE id = ANY(%s) AND s = %s', ([1, 5], \"it's\\\\\")).fetchone()[0] == \"it's\\\\\"
    assert cursor.execute('SELECT count(*) FROM t WHERE at = %s', (at,)).fetchone() == (2,)
    assert cursor.execute('SELECT id FROM t ORDER BY id LIMIT %s OFFSET %s', (1, 1)).fetchall() == [(2,)]
assert c.execute('SELECT 1; SELECT 2').fetchall() == [(1,)]
try:
    c.execute('SELECT * FROM no_such_table')
    raise AssertionError
except psycopg.errors.UndefinedTable as error:
    assert error.sqlstate == '42P01' and 'no_such_table' in str(error)
try:
    c.execute('SELEC 1')
    raise AssertionError
except psycopg.errors.SyntaxError: pass
assert c.execute('SELECT 5').fetchone() == (5,)
with c.cursor() as cursor:
    cursor.executemany('INSERT INTO t (id, s, at) VALUES (%s, %s, %s)', [(i, str(i), at) for i in range(10, 20)])
assert c.execute('SELECT count(*) FROM t').fetchone() == (12,)
with c.pipeline():
    cursors = [c.execute('SELECT %s::int8', (i,)) for i in range(10)]
assert [cursor.fetchone()[0] for cursor in cursors] == list(range(10))
");
}

#[test]
fn values_of_all_types_come_back_in_both_formats() {
    run("
import psycopg
c = psycopg.connect(dsn, autocommit=True)
columns = [
    ('Int8', [-128, 127]), ('Int16', [-32768, 32767]), ('Int32', [-2**31, 2**31-1]), ('Int64', [-2**63, 2**63-1]),
    ('UInt8', [0, 255]), ('UInt16', [0, 65535]), ('UInt32', [0, 2**32-1]), ('UInt64', [D(0), D(2**64-1)]),
    ('Float32', [0.5, -1.25]), ('Float64', [0.1, 1e300]), ('Bool', [True, False]),
    ('String', ['', 'text \\u00e9\\n\\\\']), ('LowCardinality(String)', ['x', 'y']),
    ('UUID', [uuid.UUID(int=0), uuid.UUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]),
    ('Date', [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)]),
    ('Date32', [datetime.date(1900, 1, 1), datetime.date(2299, 12, 31)]),
    ('DateTime(\\'Europe/Berlin\\')', [datetime.datetime(1970, 1, 2, tzinfo=tz), datetime.datetime(2106, 2, 7, 6, 28, 15, tzinfo=tz)]),
    ('DateTime64(6, \\'UTC\\')', [datetime.datetime(1925, 1, 1, tzinfo=tz), datetime.datetime(1999, 1, 1, 0, 0, 0, 5, tzinfo=tz)]),
    ('Decimal(9, 2)', [D('-1.25'), D('9999999.99')]), ('Decimal(76, 5)', [D('0.00001'), D('-12345678901234567890.5')]),
    ('Enum8(\\'a\\' = -1, \\'b\\' = 2)', ['a', 'b']),
    ('IPv4', [ipaddress.ip_address('127.0.0.1'), ipaddress.ip_address('255.255.255.255')]),
    ('IPv6', [ipaddress.ip_address('::1'), ipaddress.ip_address('2001:db8::ff')]),
    ('Int128', [D(-2**126), D(2**126)]), ('UInt128', [D(0), D(10**38)]), ('Int256', [D(-10**70), D(7)]), ('UInt256', [D(0), D(10**70)]),
    ('Nullable(Int32)', [None, 7]), ('Nullable(String)', [None, 'x']),
    ('Array(Int32)', [[], [1, -2]]), ('Array(Nullable(String))', [['a', None, '\"b\" ,{}\\\\'], ['NULL', '']]),
    ('Array(Array(UInt8))', [[[1, 2], [3, 4]], [[5, 6]]]), ('Array(Float64)', [[0.5], [1.5, -2.0]]),
    ('Array(UUID)', [[uuid.UUID(int=1)], []]),
]
names = [f'c{i}' for i in range(len(columns))]
c.execute('CREATE TABLE t (n UInt8, ' + ', '.join(f'{n} {t}' for n, (t, _) in zip(names, columns)) + ') ENGINE = MergeTree ORDER BY n')
for mark in ('%t', '%b', '%s'):
    c.execute('TRUNCATE TABLE t')
    for row in range(2):
        values = [row] + [v[row] for _, v in columns]
        for i, value in enumerate(values):
            if isinstance(value, list) and not value and mark == '%b': values[i] = '{}'
        marks = [('%t' if v == '{}' else mark) for v in values]
        c.execute('INSERT INTO t VALUES (' + ', '.join(marks) + ')', values)
    for binary in (False, True):
        cursor = c.cursor(binary=binary)
        rows = cursor.execute('SELECT * FROM t ORDER BY n').fetchall()
        for row in range(2):
            for (ty, values), found in zip(columns, rows[row][1:]):
                expected = values[row]
                if isinstance(expected, D): assert found == expected, (ty, mark, binary, found, expected)
                else: assert found == expected and type(found) == type(expected), (ty, mark, binary, found, expected)
for binary in (False, True):
    row = c.cursor(binary=binary).execute(\"SELECT (1, 'a') AS t, map('k', 2) AS m, NULL AS n, nan AS x, -inf AS y, toIntervalDay(3) AS i\").fetchone()
    assert row[:3] == (\"(1,'a')\", \"{'k':2}\", None) and row[3] != row[3] and row[4] == float('-inf') and row[5] == 3, row
");
}

#[test]
fn psycopg_copies_in_and_out() {
    run("
import psycopg
c = psycopg.connect(dsn, autocommit=True)
c.execute('CREATE TABLE t (id Int64, s Nullable(String), at DateTime(\\'UTC\\'), b Bool, a Array(String)) ENGINE = MergeTree ORDER BY id')
at = datetime.datetime(2024, 1, 2, 3, 4, 5, 0, tz)
rows = [(1, 'a\\t\\\\\\n', at, True, ['x', 'y\\t\\'']), (2, None, at, False, []), (3, '', at, True, ['z'])]
for options in ('', '(FORMAT binary)'):
    with c.cursor().copy(f'COPY t FROM STDIN {options}') as copy:
        if options: copy.set_types(['int8', 'text', 'timestamptz', 'bool', 'text[]'])
        for row in rows: copy.write_row(row)
    with c.cursor().copy(f'COPY (SELECT * FROM t ORDER BY id) TO STDOUT {options}') as copy:
        copy.set_types(['int8', 'text', 'timestamptz', 'bool', 'text[]'])
        assert list(copy.rows()) == rows, options
    c.execute('TRUNCATE TABLE t')
cursor = c.cursor()
with cursor.copy('COPY t (id, s) FROM STDIN WITH (FORMAT csv, HEADER)') as copy:
    copy.write('id,s\\n7,\"x,\"\"y\"\"\"\\n8,\\n')
assert cursor.rowcount == 2 and cursor.statusmessage == 'COPY 2'
with c.cursor().copy('COPY t (id, s) TO STDOUT (FORMAT csv, HEADER)') as copy:
    assert b''.join(copy) == b'id,s\\n7,\"x,\"\"y\"\"\"\\n8,\\n'
# A bad line, an error of the client, and a client that goes leave nothing.
for bad in ('9\\tx\\t2024-01-01 00:00:00\\tt\\t{}\\nnot a number\\tx\\t2024-01-01 00:00:00\\tt\\t{}\\n', '9\\tx\\t2024-01-01 00:00:00\\tt\\t{\\n'):
    try:
        with c.cursor().copy('COPY t FROM STDIN') as copy: copy.write(bad)
        raise AssertionError
    except psycopg.errors.DataError as error: pass
try:
    with c.cursor().copy('COPY t (id) FROM STDIN') as copy:
        copy.write('9\\n' * 100000)
        raise KeyError
except KeyError: pass
other = psycopg.connect(dsn, autocommit=True)
cursor = other.cursor()
context = cursor.copy('COPY t (id) FROM STDIN')
copy = context.__enter__()
copy.write('9\\n' * 200000)
socket.socket(fileno=other.fileno()).close()
for _ in range(600):
    if c.execute('SELECT count(*) FROM system.processes').fetchone() == (1,): break
    time.sleep(0.1)
assert c.execute('SELECT count(*) FROM t WHERE id = 9').fetchone() == (0,)
assert c.execute('SELECT count(*) FROM t').fetchone() == (2,)
");
}

#[test]
fn transactions_fail_where_they_would_lose_something() {
    run("
import psycopg
c = psycopg.connect(dsn)
notices = []
c.add_notice_handler(lambda d: notices.append((d.severity, d.message_primary)))
assert c.execute('SELECT 1').fetchone() == (1,)
assert c.info.transaction_status == psycopg.pq.TransactionStatus.INTRANS
c.rollback()
assert len(notices) == 1 and notices[0][0] == 'WARNING', notices
c.execute('CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id')
c.execute('INSERT INTO t VALUES (1)')
c.commit()
c.execute('INSERT INTO t VALUES (2)')
try:
    c.rollback()
    raise AssertionError
except psycopg.errors.FeatureNotSupported as error:
    assert 'ROLLBACK cannot undo' in str(error)
assert c.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
assert c.execute('SELECT count(*) FROM t').fetchone() == (2,)
try: c.execute('SELECT no_such_column FROM t')
except psycopg.errors.UndefinedColumn: pass
assert c.info.transaction_status == psycopg.pq.TransactionStatus.INERROR
try:
    c.execute('SELECT 1')
    raise AssertionError
except psycopg.errors.InFailedSqlTransaction: pass
c.rollback()
with c.transaction():
    with c.transaction(): assert c.execute('SELECT 3').fetchone() == (3,)
c.close()
");
}

#[test]
fn running_statements_are_cancelled() {
    run("
import psycopg
c = psycopg.connect(dsn, autocommit=True)
timer = threading.Timer(0.5, c.cancel)
timer.start()
try:
    c.execute('SELECT sum(sipHash64(number)) FROM numbers(1000000000000)')
    raise AssertionError
except psycopg.errors.QueryCanceled: pass
assert c.execute('SELECT 1').fetchone() == (1,)
# A client that goes cancels its statement.
other = psycopg.connect(dsn, autocommit=True)
other.pgconn.send_query(b'SELECT sum(sipHash64(number)) FROM numbers(1000000000000)')
for _ in range(600):
    if c.execute('SELECT count(*) FROM system.processes').fetchone() == (2,): break
    time.sleep(0.1)
other.close()
for _ in range(600):
    if c.execute('SELECT count(*) FROM system.processes').fetchone() == (1,): break
    time.sleep(0.1)
else: raise AssertionError('it still runs')
");
}

#[test]
fn variables_are_set_and_shown() {
    run("
import psycopg
c = psycopg.connect(dsn + ' options=\\'-c max_threads=3\\' application_name=test', autocommit=True)
ask = lambda text: c.execute(text).fetchone()[0]
assert ask('SHOW server_version') == '15.0' and ask('SHOW application_name') == 'test' and ask('SHOW max_threads') == '3'
assert ask('SHOW transaction isolation level') == 'read committed' and ask('SELECT current_schema()') == 'default'
c.execute('SET TimeZone TO \\'Europe/Berlin\\'')
assert c.info.parameter_status('TimeZone') == 'Europe/Berlin'
assert str(ask(\"SELECT toDateTime('2024-07-01 12:00:00')\")) == '2024-07-01 12:00:00+02:00'
c.execute('SET max_threads = 2')
assert ask('SHOW max_threads') == '2'
c.execute('SET extra_float_digits = 3; SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED')
c.execute('DISCARD ALL')
assert c.info.parameter_status('TimeZone') != 'Europe/Berlin'
for statement, state in [('SET no_such = 1', '42704'), ('SHOW no_such', '42704'), ('SET client_encoding = latin1', '22023'),
                         ('SET standard_conforming_strings = off', '22023'), ('SET max_threads = many', None)]:
    try: c.execute(statement)
    except psycopg.Error as error: assert state is None or error.sqlstate == state, (statement, error.sqlstate)
    else: raise AssertionError(statement)
c.execute('PREPARE p (int) AS SELECT $1 + 1')
assert ask('EXECUTE p (41)') == 42
c.execute('DEALLOCATE p')
c.execute('CREATE DATABASE other')
c.execute('SET search_path = other, public')
assert ask('SELECT currentDatabase()') == 'other'
assert psycopg.connect(dsn.replace('dbname=default', 'dbname=other')).execute('SELECT current_database()').fetchone()[0] == 'other'
for wrong, state in [('dbname=none', '3D000'), ('user=nobody password=x dbname=default', '28P01')]:
    try: psycopg.connect(f'host=127.0.0.1 port={port} user=default ' .replace('user=default', '' if 'user' in wrong else 'user=default') + wrong)
    except psycopg.OperationalError as error: assert 'does not exist' in str(error) or 'password' in str(error), error
    else: raise AssertionError(wrong)
");
}

#[test]
fn asyncpg_works() {
    run("
import asyncpg
async def main():
    c = await asyncpg.connect(host='127.0.0.1', port=port, user='default', database='default')
    assert await c.fetchval('SELECT 1 + $1::int8', 41) == 42
    await c.execute('CREATE TABLE t (id Int64, s Nullable(String), d Decimal(10, 2), at DateTime64(6, \\'UTC\\'), u UUID, a Array(Int32), f Float64, n UInt64) ENGINE = MergeTree ORDER BY id')
    at = datetime.datetime(2024, 1, 2, 3, 4, 5, 678901, tz)
    rows = [(i, None if i == 2 else f'row {i}', D('1.50'), at, uuid.UUID(int=i), [i, -i], i / 2, D(2**64 - 1)) for i in range(5)]
    await c.execute('INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8)', *rows[0])
    await c.executemany('INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8)', rows[1:3])
    assert await c.copy_records_to_table('t', records=rows[3:]) == 'COPY 2'
    found = [tuple(row) for row in await c.fetch('SELECT * FROM t ORDER BY id')]
    assert found == rows, found
    assert await c.fetchval('SELECT s FROM t WHERE id = $1 AND f < $2 AND at <= $3', 1, 3.0, at) == 'row 1'
    assert await c.fetchval('SELECT count(*) FROM t WHERE id = ANY($1::int8[])', [1, 2, 9]) == 2
    # Without a transaction a portal ends with the statement, so a cursor needs one.
    async with c.transaction():
        read = [row['number'] async for row in c.cursor('SELECT number FROM numbers(1000)', prefetch=70)]
    assert read == list(range(1000))
    assert len(await c.fetch('SELECT number FROM numbers(200000)')) == 200000
    try: await c.fetch('SELECT * FROM missing')
    except asyncpg.UndefinedTableError: pass
    else: raise AssertionError
    try: await c.fetch('SELECT sum(sipHash64(number)) FROM numbers(1000000000000)', timeout=0.5)
    except (asyncio.TimeoutError, TimeoutError): pass
    else: raise AssertionError
    assert await c.fetchval('SELECT 7') == 7
    out = []
    async def take(data): out.append(data)
    await c.copy_from_query('SELECT id, s FROM t ORDER BY id LIMIT 1', output=take, format='csv')
    assert b''.join(out) == b'0,row 0\\n'
    await c.close()
    async with asyncpg.create_pool(host='127.0.0.1', port=port, user='default', database='default', min_size=2, max_size=4) as pool:
        async def one(i):
            async with pool.acquire() as c: return await c.fetchval('SELECT $1::int4', i)
        assert await asyncio.gather(*(one(i) for i in range(50))) == list(range(50))
asyncio.run(main())
");
}

#[test]
fn sqlalchemy_reflects_and_queries() {
    run("
import sqlalchemy as sa
from sqlalchemy.orm import Session, DeclarativeBase
engine = sa.create_engine(f'postgresql+psycopg://default@127.0.0.1:{port}/default', isolation_level='AUTOCOMMIT')
with engine.connect() as c:
    c.execute(sa.text('CREATE TABLE t (id Int64, name Nullable(String), at DateTime64(6, \\'UTC\\'), amount Decimal(10, 2), tags Array(String)) ENGINE = EmbeddedRocksDB PRIMARY KEY id'))
    c.execute(sa.text('CREATE VIEW v AS SELECT id, name FROM t'))
inspector = sa.inspect(engine)
assert inspector.default_schema_name == 'default' and 'default' in inspector.get_schema_names()
assert inspector.get_table_names() == ['t'] and inspector.get_view_names() == ['v']
columns = {column['name']: column for column in inspector.get_columns('t')}
assert [type(column['type']).__name__ for column in columns.values()] == ['BIGINT', 'TEXT', 'TIMESTAMP', 'NUMERIC', 'ARRAY'], columns
assert columns['name']['nullable'] and not columns['id']['nullable']
assert inspector.get_pk_constraint('t')['constrained_columns'] == ['id'], inspector.get_pk_constraint('t')
assert inspector.get_foreign_keys('t') == [] and inspector.has_table('t') and not inspector.has_table('none')
inspector.get_indexes('t'), inspector.get_unique_constraints('t'), inspector.get_check_constraints('t'), inspector.get_table_comment('t')
metadata = sa.MetaData()
t = sa.Table('t', metadata, autoload_with=engine)
at = datetime.datetime(2024, 1, 2, 3, 4, 5, 6, tz)
with engine.connect() as c:
    c.execute(t.insert(), [{'id': i, 'name': f'n{i}', 'at': at, 'amount': D('1.25'), 'tags': ['a', 'b c']} for i in range(3)])
    rows = c.execute(sa.select(t).where(t.c.id.in_([1, 2])).order_by(t.c.id.desc()).limit(1)).fetchall()
    assert rows == [(2, 'n2', at, D('1.25'), ['a', 'b c'])], rows
    assert c.execute(sa.select(sa.func.count()).select_from(t)).scalar() == 3
    assert c.execute(sa.select(t.c.name).where(t.c.name.like('n%'), t.c.at == at).order_by('name')).scalars().all() == ['n0', 'n1', 'n2']
metadata.reflect(engine, views=True)
assert set(metadata.tables) == {'t', 'v'}
asynchronous = sa.create_engine(f'postgresql+psycopg://default@127.0.0.1:{port}/default')
with asynchronous.connect() as c: assert c.execute(sa.text('SELECT 1')).scalar() == 1
");
}

#[test]
fn large_results_stream_in_bounded_memory() {
    run("
import psycopg
c = psycopg.connect(dsn, autocommit=True)
count = 0
with c.cursor() as cursor:
    for row in cursor.stream('SELECT number, toString(number) FROM numbers(2000000)', size=1000): count += 1
assert count == 2000000
out = 0
with c.cursor().copy('COPY (SELECT number, number, number, number, number FROM numbers(3000000)) TO STDOUT') as copy:
    for piece in copy: out += 1
assert out == 3000000, out
peak = int(c.execute(\"SELECT max(memory_usage) FROM system.query_log WHERE query ILIKE '%numbers(%'\").fetchone()[0])
assert peak < 100 << 20, peak
");
}
