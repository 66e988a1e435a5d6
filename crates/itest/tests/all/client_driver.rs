//! clickhouse-driver, Python's client of the native protocol.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

/// The beginning of every script: a client `c`, compressed as the second argument says.
const OPEN: &str = "
import sys, datetime, decimal, uuid, ipaddress
from clickhouse_driver import Client, errors
port, compression = int(sys.argv[1]), sys.argv[2]
def client(**more):
    return Client('127.0.0.1', port=port, compression={'none': False}.get(compression, compression), **more)
c = client()
";

fn run(script: &str) {
    let packages = ["clickhouse-driver[lz4,zstd]==0.2.11", "numpy", "pandas"];
    let python = match Python::with("clickhouse-driver", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-driver cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    let port = server.tcp_address().port().to_string();
    for compression in ["none", "lz4", "zstd"] {
        python.run(&format!("{OPEN}{script}"), &[&port, compression]);
    }
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn statements_and_settings_work() {
    run("
assert c.execute('SELECT 1, %(x)s', {'x': \"it's\\t\\\\\"}) == [(1, \"it's\\t\\\\\")]
rows, columns = c.execute('SELECT number AS n, toString(n) AS s FROM numbers(3)', with_column_types=True)
assert rows == [(0, '0'), (1, '1'), (2, '2')] and columns == [('n', 'UInt64'), ('s', 'String')], (rows, columns)
assert c.execute('SELECT getSetting(\\'max_threads\\')', settings={'max_threads': 3})[0][0] == 3
assert c.execute('SET max_threads = 2') in ([], None)
assert c.execute('SELECT getSetting(\\'max_threads\\')')[0][0] == 2
assert c.execute('SELECT k, sum(v) FROM (SELECT number % 2 AS k, number AS v FROM numbers(10)) GROUP BY k WITH TOTALS ORDER BY k') == [(0, 20), (1, 25), (0, 45)]
c.execute('CREATE DATABASE IF NOT EXISTS other')
assert client(database='other').execute('SELECT currentDatabase()') == [('other',)]
c.execute('DROP DATABASE other')
assert c.execute('SELECT count() FROM system.processes')[0][0] == 1
p = client(settings={'server_side_params': True})
assert p.execute('SELECT {x:UInt8} + {y:Int32}, {s:String}', {'x': 1, 'y': -5, 's': \"a'b\\t\"}) == [(-4, \"a'b\\t\")]
");
}

#[test]
fn rows_of_all_types_come_back() {
    run("
D = decimal.Decimal
tz = datetime.timezone.utc
columns = [
    ('Int8', [-128, 127]), ('Int16', [-32768, 32767]), ('Int32', [-2**31, 2**31-1]), ('Int64', [-2**63, 2**63-1]),
    ('UInt8', [0, 255]), ('UInt16', [0, 65535]), ('UInt32', [0, 2**32-1]), ('UInt64', [0, 2**64-1]),
    ('Float32', [0.5, -1.25]), ('Float64', [0.1, 1e300]), ('Bool', [True, False]),
    ('String', ['', 'text \\u00e9\\n']), ('FixedString(3)', ['abc', 'de']),
    ('UUID', [uuid.UUID(int=0), uuid.UUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]),
    ('Date', [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)]),
    ('Date32', [datetime.date(1900, 1, 1), datetime.date(2299, 12, 31)]),
    (\"DateTime('UTC')\", [datetime.datetime(1970, 1, 1, tzinfo=tz), datetime.datetime(2106, 2, 7, 6, 28, 15, tzinfo=tz)]),
    (\"DateTime64(3, 'UTC')\", [datetime.datetime(1925, 1, 1, tzinfo=tz), datetime.datetime(1999, 1, 1, 0, 0, 0, 5000, tzinfo=tz), datetime.datetime(2262, 4, 11, tzinfo=tz)]),
    ('Decimal(9, 2)', [D('-1.25'), D('9999999.99')]), ('Decimal(18, 4)', [D('0.0001'), D('-1')]),
    ('Decimal(38, 10)', [D('1.5'), D('-12345678901234567890.5')]), ('Decimal(76, 5)', [D('0.00001'), D('-7')]),
    (\"Enum8('a' = -1, 'b' = 2)\", ['a', 'b']), (\"Enum16('x' = 1000, 'y' = 2)\", ['x', 'y']),
    ('IPv4', [ipaddress.ip_address('127.0.0.1'), ipaddress.ip_address('255.255.255.255')]),
    ('IPv6', [ipaddress.ip_address('::1'), ipaddress.ip_address('2001:db8::ff')]),
    ('Int128', [-2**127, 2**127-1]), ('UInt128', [0, 2**128-1]), ('Int256', [-2**255, 2**255-1]), ('UInt256', [0, 2**256-1]),
    ('Nullable(Int128)', [None, -5]), ('Array(UInt256)', [[], [1, 2**200]]),
    ('Nullable(Int32)', [None, 7]), ('Nullable(String)', ['x', None]),
    ('LowCardinality(String)', ['a', 'b']), ('LowCardinality(Nullable(String))', [None, 'b']),
    ('Array(UInt8)', [[], [1, 2, 3]]), ('Array(Nullable(String))', [['a', None], []]), ('Array(Array(Int64))', [[[1], []], [[-1, 2]]]),
    ('Array(LowCardinality(String))', [['a', 'a'], []]),
    ('Tuple(UInt8, String)', [(1, 'a'), (2, 'b')]), ('Map(String, UInt64)', [{}, {'a': 1, 'b': 2}]),
]
for ty, values in columns:
    c.execute('DROP TABLE IF EXISTS t')
    c.execute(f'CREATE TABLE t (k UInt8, v {ty}) ENGINE = MergeTree ORDER BY k')
    assert c.execute('INSERT INTO t VALUES', list(enumerate(values))) == len(values)
    got = c.execute('SELECT v FROM t ORDER BY k')
    # FixedString is padded with zero bytes, which the client strips.
    assert got == [(v,) for v in values], (ty, got)
    c.execute('INSERT INTO t SELECT k + 10, v FROM t')
    assert c.execute('SELECT v FROM t WHERE k >= 10 ORDER BY k') == got, ty
");
}

#[test]
fn inserts_are_whole_or_nothing() {
    run("
c.execute('DROP TABLE IF EXISTS t')
c.execute('CREATE TABLE t (a UInt32, b String DEFAULT concat(\\'d\\', toString(a)), c Nullable(Int8)) ENGINE = MergeTree ORDER BY a')
assert c.execute('INSERT INTO t (a) VALUES', [(1,), (2,)]) == 2
assert c.execute('SELECT a, b, c FROM t ORDER BY a') == [(1, 'd1', None), (2, 'd2', None)]
assert c.execute('INSERT INTO t (c, a) VALUES', [[3, None], [33, 34]], columnar=True) in (2, None)
c.execute('INSERT INTO t VALUES (7, \\'inline\\', 1)')
assert c.execute('SELECT count(), sum(a) FROM t') == [(5, 1 + 2 + 33 + 34 + 7)]
def endless():
    for i in range(1_000_000):
        if i == 900_000:
            raise ValueError('stop')
        yield (i, 'x', None)
try:
    c.execute('INSERT INTO t VALUES', endless())
    assert False
except ValueError:
    c.disconnect()
assert client().execute('SELECT count() FROM t') == [(5,)]
try:
    client().execute('INSERT INTO no_such_table VALUES', [(1,)])
    assert False
except errors.ServerException as e:
    assert e.code == 60, e
c = client()
c.execute('TRUNCATE TABLE t')
c.execute('INSERT INTO t (a) VALUES', ((i,) for i in range(300_000)))
assert c.execute('SELECT count(), max(a) FROM t') == [(300_000, 299_999)]
");
}

#[test]
fn errors_leave_the_connection_usable() {
    run("
for text, code in [('SELECT no_such_column', 47), ('SELEC 1', 62), ('SELECT throwIf(number = 200000) FROM numbers(1000000)', 395), ('SELECT * FROM nowhere', 60)]:
    try:
        c.execute(text)
        assert False, text
    except errors.ServerException as e:
        assert e.code == code, (text, e)
    assert c.execute('SELECT 1') == [(1,)]
try:
    Client('127.0.0.1', port=port, user='nobody', password='x').execute('SELECT 1')
    assert False
except errors.ServerException as e:
    assert e.code == 516, e
");
}

#[test]
fn results_stream_and_can_be_cancelled() {
    run("
settings = {'max_block_size': 10_000}
rows = c.execute_iter('SELECT number, toString(number) FROM numbers(3_000_000)', settings=settings)
total = sum(row[0] for row in rows)
assert total == 3_000_000 * 2_999_999 // 2
progress = c.execute_with_progress('SELECT sum(number) FROM numbers(30_000_000)')
for read, all_rows in progress: pass
assert progress.get_result() == [(449999985000000,)]
assert c.last_query.progress.rows == 30_000_000, c.last_query.progress.rows
stream = c.execute_iter('SELECT number FROM numbers(10_000_000_000)', settings=settings)
next(stream)
c.cancel()
assert client().execute('SELECT 1') == [(1,)]
for _ in range(100):
    left = client().execute(\"SELECT count() FROM system.processes WHERE query LIKE '%10_000_000_000%' AND query NOT LIKE '%processes%'\")
    if left == [(0,)]: break
    import time; time.sleep(0.05)
assert left == [(0,)], left
");
}

#[test]
fn external_tables_and_frames_work() {
    run("
tables = [{'name': 'ext', 'structure': [('x', 'Int32'), ('y', 'Array(String)')], 'data': [{'x': 100, 'y': ['a']}, {'x': 500, 'y': []}]}]
assert c.execute('SELECT sum(x), sum(length(y)) FROM ext', external_tables=tables) == [(600, 1)]
try:
    c.execute('SELECT * FROM ext')
    assert False
except errors.ServerException as e:
    assert e.code == 60
c.execute('CREATE TEMPORARY TABLE tmp (a UInt8)')
c.execute('INSERT INTO tmp VALUES', [(1,), (2,)])
assert c.execute('SELECT sum(a) FROM tmp') == [(3,)]
import pandas, numpy
n = client(settings={'use_numpy': True})
frame = n.query_dataframe('SELECT number AS a, toFloat64(number) / 2 AS b, toString(number) AS s FROM numbers(1000)')
assert frame.shape == (1000, 3) and frame['b'].sum() == 249750.0
n.execute('DROP TABLE IF EXISTS f')
n.execute('CREATE TABLE f (a UInt64, b Float64, s String) ENGINE = MergeTree ORDER BY a')
assert n.insert_dataframe('INSERT INTO f VALUES', frame) == 1000
assert c.execute('SELECT count(), sum(b) FROM f') == [(1000, 249750.0)]
");
}
