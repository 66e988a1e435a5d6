//! clickhouse-connect, the Python client of HTTP on which many programs are built.

use basalt_itest::python::Python;
use basalt_itest::server::Server;
use basalt_itest::skipped;

/// The beginning of every script: a client `c`.
const OPEN: &str = r"
import sys, datetime, decimal, uuid, ipaddress, time
import clickhouse_connect
from clickhouse_connect.driver.exceptions import DatabaseError
port = int(sys.argv[1])
def client(**more):
    return clickhouse_connect.get_client(host='127.0.0.1', port=port, **more)
c = client()
";

fn run(script: &str) {
    let packages = [
        "clickhouse-connect[arrow]==1.12.0",
        "pandas==3.1.0",
        "pyarrow==26.0.1",
        "numpy",
        "lz4",
        "zstandard",
    ];
    let python = match Python::with("clickhouse-connect", &packages) {
        Ok(python) => python,
        Err(why) => return skipped(&format!("clickhouse-connect cannot be installed: {why}")),
    };
    let data = tempfile::tempdir().expect("a directory");
    let server = Server::start(data.path());
    python.run(&format!("{OPEN}{script}"), &[&server.address().port().to_string()]);
    assert_eq!(server.ask("SELECT 1"), "1\n");
}

#[test]
fn statements_settings_and_parameters_work() {
    run(r#"
assert c.ping() and c.command('SELECT 1') == 1 and int(c.server_version.split('.')[0]) >= 20, c.server_version
r = c.query('SELECT number AS n, toString(n) AS s FROM numbers(3)')
assert r.result_rows == [(0, '0'), (1, '1'), (2, '2')] and r.column_names == ('n', 's'), r
assert [t.name for t in r.column_types] == ['UInt64', 'String'] and r.summary['read_rows'] == '3', r.summary
assert client(settings={'max_threads': 3}).query("SELECT getSetting('max_threads')").result_rows == [(3,)]
assert c.query("SELECT getSetting('max_threads')", settings={'max_threads': 2}).result_rows == [(2,)]
values = {'a': 1, 'b': -5, 's': "it's\t\\\n", 'l': ["a'b", 'c\\', 't\t'], 'd': datetime.datetime(2024, 1, 2, 3, 4, 5), 'n': None}
text = 'SELECT {a:UInt8}, {b:Int32}, {s:String}, {l:Array(String)}, {d:DateTime}, {n:Nullable(String)}'
assert c.query(text, parameters=values).result_rows == [tuple(values.values())], c.query(text, parameters=values).result_rows
assert c.query('SELECT %(x)s, %(y)s', parameters={'x': "it's\t\\", 'y': [1, 2]}).result_rows == [("it's\t\\", [1, 2])]
c.command('CREATE DATABASE other')
assert client(database='other').command('SELECT currentDatabase()') == 'other'
c.command('CREATE TEMPORARY TABLE tmp (a UInt8)')
assert c.insert('tmp', [[1], [2]], column_names=['a']).written_rows == 2
assert c.query('SELECT sum(a) FROM tmp').result_rows == [(3,)]
"#);
}

#[test]
fn rows_of_all_types_come_back() {
    run(r#"
D = decimal.Decimal
columns = [
    ('Int8', [-128, 127]), ('Int16', [-32768, 32767]), ('Int32', [-2**31, 2**31-1]), ('Int64', [-2**63, 2**63-1]),
    ('UInt8', [0, 255]), ('UInt16', [0, 65535]), ('UInt32', [0, 2**32-1]), ('UInt64', [0, 2**64-1]),
    ('Float32', [0.5, -1.25]), ('Float64', [0.1, 1e300]), ('Bool', [True, False]),
    ('String', ['', 'text \u00e9\n']), ('FixedString(3)', [b'abc', b'de\0']),
    ('UUID', [uuid.UUID(int=0), uuid.UUID('61f0c404-5cb3-11e7-907b-a6006ad3dba0')]),
    ('Date', [datetime.date(1970, 1, 1), datetime.date(2149, 6, 6)]),
    ('Date32', [datetime.date(1925, 1, 1), datetime.date(2283, 11, 11)]),
    ("DateTime('UTC')", [datetime.datetime(1970, 1, 1), datetime.datetime(2100, 1, 1, 1, 2, 3)]),
    ("DateTime64(6, 'UTC')", [datetime.datetime(1950, 1, 1, 0, 0, 0, 1), datetime.datetime(2100, 1, 1, 1, 2, 3, 999999)]),
    ('Decimal(9, 2)', [D('-1.25'), D('9999999.99')]), ('Decimal(18, 4)', [D('0'), D('1.0001')]),
    ('Decimal(38, 10)', [D('-1.5'), D('12345678901234567890.0123456789')]),
    ('Decimal(76, 20)', [D('-1.5'), D('1234567890123456789012345.0123456789')]),
    ("Enum8('a' = 1, 'b' = -2)", ['a', 'b']), ("Enum16('x' = 1000)", ['x', 'x']),
    ('IPv4', [ipaddress.IPv4Address('0.0.0.0'), ipaddress.IPv4Address('255.1.2.3')]),
    ('IPv6', [ipaddress.IPv6Address('::1'), ipaddress.IPv6Address('2001:db8::ff')]),
    ('Int128', [-2**127, 2**127-1]), ('UInt128', [0, 2**128-1]), ('Int256', [-2**255, 2**255-1]), ('UInt256', [0, 2**256-1]),
    ('Nullable(Int128)', [None, -5]), ('Array(UInt256)', [[], [1, 2**200]]),
    ('Nullable(Int32)', [None, 5]), ('Nullable(String)', ['x', None]),
    ('LowCardinality(String)', ['a', 'b']), ('LowCardinality(Nullable(String))', [None, 'b']),
    ('Array(Int32)', [[], [1, 2, 3]]), ('Array(Array(String))', [[['a'], []], []]), ('Array(Nullable(Int8))', [[None, 1], []]),
    ('Array(LowCardinality(String))', [['a', 'b', 'a'], []]), ('Tuple(Int32, String)', [(1, 'a'), (2, 'b')]),
    ('Tuple(a Int32, b Nullable(String))', [{'a': 1, 'b': None}, {'a': 2, 'b': 'x'}]),
    ('Map(String, UInt64)', [{}, {'a': 1, 'b': 2}]), ('Map(String, Array(String))', [{'k': ['v']}, {}]),
]
for ty, values in columns:
    c.command('DROP TABLE IF EXISTS t')
    c.command(f'CREATE TABLE t (k UInt8, v {ty}) ENGINE = MergeTree ORDER BY k')
    c.insert('t', [[i, v] for i, v in enumerate(values)], column_names=['k', 'v'])
    got = [row[0] for row in c.query('SELECT v FROM t ORDER BY k').result_rows]
    assert got == values, (ty, got, values)
    c.insert('t', [[i + 10, v] for i, v in enumerate(got)])
    again = [row[0] for row in c.query('SELECT v FROM t WHERE k >= 10 ORDER BY k').result_rows]
    assert again == got, (ty, again)
"#);
}

#[test]
fn frames_and_arrow_tables_go_in_and_out() {
    run(r#"
import pandas, pyarrow, numpy
n = 1000
frame = pandas.DataFrame({'a': numpy.arange(n, dtype='uint64'), 'b': numpy.arange(n) / 2, 's': [f's{i}' for i in range(n)],
    'd': pandas.date_range('2024-01-01', periods=n, freq='h'), 'n': pandas.array([None if i % 3 == 0 else i for i in range(n)], dtype='Int64')})
c.command("CREATE TABLE f (a UInt64, b Float64, s LowCardinality(String), d DateTime64(3, 'UTC'), n Nullable(Int64)) ENGINE = MergeTree ORDER BY a")
c.insert_df('f', frame)
back = c.query_df('SELECT * FROM f ORDER BY a')
assert (back['a'] == frame['a']).all() and (back['s'] == frame['s']).all() and back['n'].isna().sum() == 334, back
assert (back['d'].dt.tz_localize(None) == frame['d']).all(), back
table = c.query_arrow('SELECT * FROM f ORDER BY a')
types = [str(field.type) for field in table.schema]
assert types == ['uint64', 'double', 'string', 'timestamp[ms, tz=UTC]', 'int64'], types
assert table.num_rows == n and table.column('b').to_pylist() == frame['b'].tolist()
assert str(c.query_arrow('SELECT toString(a) AS s FROM f', use_strings=False).schema.field('s').type) == 'binary'
c.command('CREATE TABLE g AS f')
c.insert_arrow('g', table)
c.insert_df_arrow('g', c.query_df_arrow('SELECT * FROM f'))
sums = 'SELECT count(), sum(a), sum(b), countIf(isNull(n)), uniqExact(s), min(d) FROM '
assert c.query(sums + 'g').result_rows == c.query(sums + '(SELECT * FROM f UNION ALL SELECT * FROM f)').result_rows
with c.query_arrow_stream('SELECT * FROM f', settings={'max_block_size': 100}) as stream:
    assert sum(batch.num_rows for batch in stream) == n
with c.query_df_stream('SELECT * FROM f') as stream:
    assert sum(len(part) for part in stream) == n
assert c.query_np('SELECT a, b FROM f ORDER BY a')['b'].sum() == frame['b'].sum()
parquet = c.raw_query('SELECT * FROM f ORDER BY a', fmt='Parquet')
import io, pyarrow.parquet
read = pyarrow.parquet.read_table(io.BytesIO(parquet))
assert read.column('n').to_pylist() == table.column('n').to_pylist()
c.raw_insert('g', insert_block=parquet, fmt='Parquet')
assert c.command('SELECT count() FROM g') == 3 * n
"#);
}

#[test]
fn ten_million_rows_stream_in_little_memory() {
    run(r#"
import resource
def peak_mb(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
before, rows = peak_mb(), 0
with c.query_row_block_stream('SELECT number, toString(number) FROM numbers(10_000_000)') as stream:
    for block in stream:
        rows += len(block)
assert rows == 10_000_000 and peak_mb() - before < 200, (rows, before, peak_mb())
c.command('CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a')
c.raw_insert('t', insert_block=(f'{i}\t{i}\n'.encode() * 1000 for i in range(1000)), fmt='TSV', compression=None)
assert c.command('SELECT count() FROM t') == 1_000_000
memory = int(c.command("SELECT max(memory_usage) FROM system.query_log WHERE query LIKE 'SELECT number, toString%' AND type = 'QueryFinish'"))
assert memory < 200 << 20, memory
"#);
}

#[test]
fn errors_leave_the_client_usable_and_closed_streams_end_their_query() {
    run(r#"
late = 'SELECT number, throwIf(number = 9000000) FROM numbers(10000000)'
for text, code in [('SELECT no_such_column', 47), ('SELEC 1', 62), ('SELECT * FROM nowhere', 60), ('SELECT throwIf(number = 200000) FROM numbers(1000000)', 395), (late, 395)]:
    try:
        c.query(text)
        assert False, text
    except DatabaseError as e:
        assert f'ode: {code}' in str(e), (text, e)
    assert c.query('SELECT 1').result_rows == [(1,)]
try:
    client(username='nobody', password='x')
    assert False
except DatabaseError as e:
    assert '516' in str(e), e
stream = c.raw_stream('SELECT number FROM numbers(10_000_000_000)', fmt='TSV', settings={'max_block_size': 10_000})
stream.read(100)
stream.close()
for _ in range(200):
    left = c.query("SELECT count() FROM system.processes WHERE query LIKE '%10_000_000_000%' AND query NOT LIKE '%processes%'").result_rows
    if left == [(0,)]: break
    time.sleep(0.05)
assert left == [(0,)], left
"#);
}

#[test]
fn bodies_are_compressed_and_external_tables_are_read() {
    run(r#"
c.command('CREATE TABLE z (a UInt64) ENGINE = Memory')
for compress in [False, True, 'gzip', 'zstd', 'lz4']:
    d = client(compress=compress)
    d.command('TRUNCATE TABLE z')
    d.insert('z', [[i] for i in range(100_000)], column_names=['a'])
    assert d.query('SELECT sum(a), count() FROM z').result_rows == [(4999950000, 100_000)], compress
    assert len(d.query('SELECT a FROM z').result_rows) == 100_000, compress
from clickhouse_connect.driver.external import ExternalData
ids = ExternalData(file_name='ids.csv', fmt='CSV', structure='id UInt64, s String', data=b'1,a\n2,b\n')
assert c.query('SELECT sum(id), max(s) FROM ids', external_data=ids).result_rows == [(3, 'b')]
ids.add_file(file_name='more.csv', fmt='CSV', types='String', data=b'x\ny\n')
assert c.query('SELECT count(), max(_1) FROM ids, more WHERE id = {n:UInt64}', external_data=ids, parameters={'n': 2}).result_rows == [(2, 'y')]
"#);
}
