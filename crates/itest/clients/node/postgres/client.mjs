import assert from 'node:assert/strict'
import { once } from 'node:events'
import { pipeline } from 'node:stream/promises'
import { Readable } from 'node:stream'
import pg from 'pg'
import Cursor from 'pg-cursor'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'

const address = { host: '127.0.0.1', port: Number(process.argv[2]), user: 'default', database: 'default' }
const client = new pg.Client(address)
const id = '61f0c404-5cb3-11e7-907b-a6006ad3dba0'
const at = new Date('2024-01-02T03:04:05.678Z')

// Columns of all types: the type and two values.
const columns = [
  ['int2', [-32768, 32767]], ['int4', [-2147483648, 2147483647]], ['int8', ['-9223372036854775808', '9223372036854775807']],
  ['UInt8', [0, 255]], ['UInt32', ['0', '4294967295']], ['UInt64', ['0', '18446744073709551615']],
  ['float4', [0.5, -1.25]], ['float8', [0.1, 1e300]], ['numeric(18, 4)', ['-1.2500', '12345678901234.5678']],
  ['bool', [true, false]], ['text', ["it's \\ \n\t\u00e9", '']], ['varchar(20)', ['x', '"']], ['uuid', [id, id]],
  ['timestamptz', [at, new Date(0)]], ['Array(Int32)', [[1, -2], []]], ['Array(Nullable(String))', [['a', null, '"b" ,{}\\'], ['NULL', '']]],
  ['Nullable(Int32)', [null, 7]], ["Enum8('a' = 1, 'b' = 2)", ['a', 'b']], ['IPv4', ['127.0.0.1', '10.0.0.255']],
]

async function valuesOfAllTypes() {
  const names = columns.map((_, index) => `c${index}`)
  await client.query(`CREATE TABLE t (n int4 NOT NULL, d date, ${names.map((name, index) => `${name} ${columns[index][0]}`)}) ENGINE = MergeTree ORDER BY n`)
  const marks = ['$1', '$2', ...names.map((_, index) => `$${index + 3}`)]
  for (const row of [0, 1]) {
    const values = [row, '2024-01-02', ...columns.map(([, values]) => values[row])]
    const { rowCount, command } = await client.query({ name: 'insert', text: `INSERT INTO t VALUES (${marks})`, values })
    assert.deepEqual([rowCount, command], [1, 'INSERT'])
  }
  const { rows } = await client.query({ text: 'SELECT * FROM t WHERE n >= $1 ORDER BY n', values: [0], rowMode: 'array' })
  for (const row of [0, 1]) {
    assert.equal(rows[row][1].toDateString(), new Date(2024, 0, 2).toDateString())
    columns.forEach(([type, values], index) => assert.deepEqual(rows[row][index + 2], values[row], type))
  }
}

async function parameters() {
  const found = await client.query('SELECT $1::text AS s, $2::int4 AS n, $3::text[] AS l, $4::timestamptz AS at, $5::text AS o, $6::bool AS b, $7::numeric(10, 1) AS d',
    ["it's\t\\\n", -5, ["a'b", 'c,d'], at, null, true, '1.5'])
  assert.deepEqual(found.rows, [{ s: "it's\t\\\n", n: -5, l: ["a'b", 'c,d'], at, o: null, b: true, d: '1.5' }])
  assert.deepEqual(found.fields.map((field) => field.name), ['s', 'n', 'l', 'at', 'o', 'b', 'd'])
  for (let n = 0; n < 20; n++) {
    const { rows } = await client.query({ name: 'prepared', text: 'SELECT $1::int4 + 1 AS n', values: [n] })
    assert.deepEqual(rows, [{ n: String(n + 1) }])
  }
  const bytes = await client.query('SELECT $1::bytea AS b, length($1::bytea) AS n', [Buffer.from('a\0\xff', 'latin1')])
  assert.equal(Number(bytes.rows[0].n), 3)
  const found2 = await client.query('SELECT n FROM t WHERE n = ANY($1) AND c12 = $2 AND c13 <= $3 LIMIT $4', [[0, 5], id, at, 10])
  assert.deepEqual(found2.rows, [{ n: 0 }])
  const many = await client.query('SELECT 1 AS a; SELECT 2 AS a')
  assert.deepEqual(many.map((one) => Number(one.rows[0].a)), [1, 2])
}

async function copies() {
  await client.query('CREATE TABLE copied (id int8 NOT NULL, s text) ENGINE = MergeTree ORDER BY id')
  const lines = function* () { for (let n = 0; n < 100_000; n++) yield `${n}\ttext ${n}\n` }
  const into = client.query(copyFrom('COPY copied FROM STDIN'))
  await pipeline(Readable.from(lines()), into)
  assert.equal(into.rowCount, 100_000)
  const out = client.query(copyTo('COPY (SELECT * FROM copied ORDER BY id) TO STDOUT (FORMAT csv)'))
  let text = ''
  for await (const piece of out) text += piece
  assert.equal(text.split('\n').length, 100_001)
  assert.ok(text.startsWith('0,text 0\n1,text 1\n'), text.slice(0, 40))
}

async function streams() {
  const cursor = client.query(new Cursor('SELECT number, toString(number) AS s FROM numbers($1::int8)', [3_000_000]))
  let count = 0
  for (let rows = await cursor.read(10_000); rows.length > 0; rows = await cursor.read(10_000)) count += rows.length
  assert.equal(count, 3_000_000)
  await cursor.close()
  const early = client.query(new Cursor('SELECT number FROM numbers(1000000000000)'))
  assert.equal((await early.read(5)).length, 5)
  await early.close()
  assert.ok(process.memoryUsage().rss < 400 << 20, process.memoryUsage().rss)
}

async function errorsAndCancels() {
  const fails = (text, code, other = client) => assert.rejects(other.query(text), (error) => { assert.equal(error.code, code, `${text}: ${error}`); return true })
  await fails('SELECT * FROM missing', '42P01')
  await fails('SELECT nothing', '42703')
  await fails('SELEC 1', '42601')
  await fails({ text: 'SELECT $1::int4', values: ['x'] }, '22P02')
  const endless = 'SELECT count() FROM numbers(1000000000000) WHERE NOT ignore(number)'
  const other = new pg.Client(address)
  await other.connect()
  const query = new pg.Query(endless)
  const ended = new Promise((resolve) => query.on('error', resolve))
  other.query(query)
  setTimeout(() => new pg.Client(address).cancel(other, query), 300)
  assert.equal((await ended).code, '57014')
  await other.end()
  const hasty = new pg.Client({ ...address, statement_timeout: 300 })
  await hasty.connect()
  await fails(endless, '57014', hasty)
  assert.deepEqual((await hasty.query('SELECT 7::int4 AS a')).rows, [{ a: 7 }])
  await hasty.end()
  const stranger = new pg.Client({ ...address, user: 'nobody', password: 'x' })
  await assert.rejects(stranger.connect(), (error) => error.code === '28P01')
}

async function pools() {
  const pool = new pg.Pool({ ...address, max: 4 })
  const found = await Promise.all(Array.from({ length: 50 }, (_, n) => pool.query('SELECT $1::int4 AS n', [n])))
  assert.deepEqual(found.map(({ rows }) => rows[0].n), Array.from({ length: 50 }, (_, n) => n))
  await pool.end()
}

await client.connect()
for (const test of [valuesOfAllTypes, parameters, copies, streams, errorsAndCancels, pools]) await test()
await client.end()
