// @clickhouse/client against the server whose HTTP port is the first argument; the second says whether to compress.
import assert from 'node:assert'
import { Readable } from 'node:stream'
import { createClient, ClickHouseLogLevel } from '@clickhouse/client'

const url = `http://127.0.0.1:${process.argv[2]}`
const compresses = process.argv[3] === 'compressed'
const compression = { request: compresses, response: compresses }
const log = { level: ClickHouseLogLevel.OFF }
const open = (more) => createClient({ url, compression, log, ...more })
const client = open({})
const rows = async (query, more) => (await client.query({ query, format: 'JSONEachRow', ...more })).json()

async function insertsAndSelects() {
  await client.command({
    query: `CREATE TABLE t (id UInt64, s String, d DateTime, n Nullable(Int32), l Array(String))
      ENGINE = MergeTree ORDER BY id`,
  })
  const values = [
    { id: 1, s: "it's", d: '2024-01-02 03:04:05', n: null, l: ['a'] },
    { id: 2, s: 'x', d: '2024-01-02 03:04:06', n: 5, l: [] },
  ]
  const { summary } = await client.insert({ table: 't', values, format: 'JSONEachRow' })
  assert.equal(summary.written_rows, '2')
  await client.insert({ table: 't', values: [[3, 'z']], columns: ['id', 's'], format: 'JSONCompactEachRow' })
  function* numbers() {
    for (let id = 10; id < 100_010; id++) yield [id]
  }
  const stream = Readable.from(numbers(), { objectMode: true })
  await client.insert({ table: 't', columns: ['id'], values: stream, format: 'JSONCompactEachRow' })
  function* lines() {
    for (let id = 200_000; id < 201_000; id++) yield `${id},csv\n`
  }
  const text = Readable.from(lines(), { objectMode: false })
  await client.insert({ table: 't', columns: ['id', 's'], values: text, format: 'CSV' })
  const found = await rows('SELECT * FROM t WHERE id < 3 ORDER BY id')
  assert.deepEqual(found.map((row) => ({ ...row, id: Number(row.id) })), values)
  const all = await (await client.query({ query: 'SELECT count() AS c FROM t', format: 'JSON' })).json()
  assert.equal(Number(all.data[0].c), 101_003)
}

async function parameters() {
  const query = 'SELECT {s:String} AS s, {n:Int32} AS n, {l:Array(String)} AS l, {d:DateTime} AS d, {o:Nullable(String)} AS o'
  const query_params = { s: "it's\t\\\n", n: -5, l: ["a'b"], d: new Date(0), o: null }
  assert.deepEqual(await rows(query, { query_params }), [{ ...query_params, d: '1970-01-01 00:00:00' }])
}

async function formats() {
  const known = `JSON JSONCompact JSONStrings JSONCompactStrings JSONColumnsWithMetadata JSONObjectEachRow JSONCompactEachRow
    JSONStringsEachRow JSONCompactStringsEachRow JSONCompactEachRowWithNames JSONCompactEachRowWithNamesAndTypes
    JSONEachRowWithProgress CSV CSVWithNames CSVWithNamesAndTypes TabSeparated TabSeparatedRaw TabSeparatedWithNames
    CustomSeparated Parquet`
  for (const format of known.split(/\s+/)) {
    const answer = await client.query({ query: 'SELECT number, toString(number) AS s FROM numbers(3)', format })
    assert.ok((await answer.text()).length > 10, format)
  }
}

async function streams() {
  let count = 0
  const answer = await client.query({ query: 'SELECT number FROM numbers(10_000_000)', format: 'JSONCompactEachRow' })
  for await (const block of answer.stream()) count += block.length
  assert.equal(count, 10_000_000)
  assert.ok(process.memoryUsage().rss < 400 << 20, process.memoryUsage().rss)
}

async function errorsAndCancels() {
  await assert.rejects(rows('SELECT nothing'), (error) => error.code === '47' && error.type === 'UNKNOWN_IDENTIFIER')
  // The client may see the broken connection before it has read the text of the error.
  await assert.rejects(rows('SELECT number, throwIf(number = 2_000_000) FROM numbers(5_000_000)'))
  const abort = new AbortController()
  const endless = client.query({
    query: 'SELECT count() FROM numbers(1_000_000_000_000) WHERE NOT ignore(number)',
    abort_signal: abort.signal,
  })
  setTimeout(() => abort.abort(), 200)
  await assert.rejects(endless)
  const running = `SELECT count() AS c FROM system.processes WHERE query LIKE '%1_000_000_000_000%' AND query NOT LIKE '%processes%'`
  let left
  for (let round = 0; round < 200; round++) {
    left = Number((await rows(running))[0].c)
    if (left === 0) break
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.equal(left, 0)
  const stranger = open({ username: 'nobody', password: 'x' })
  await assert.rejects(stranger.query({ query: 'SELECT 1' }), (error) => error.code === '516')
  await stranger.close()
}

async function sessions() {
  const session = open({ session_id: process.argv[3], clickhouse_settings: { max_threads: 2 } })
  await session.command({ query: 'CREATE TEMPORARY TABLE tmp (a UInt8)' })
  await session.insert({ table: 'tmp', values: [{ a: 1 }], format: 'JSONEachRow' })
  const query = "SELECT toString(sum(a)) AS a, toString(getSetting('max_threads')) AS m FROM tmp"
  assert.deepEqual(await (await session.query({ query, format: 'JSONEachRow' })).json(), [{ a: '1', m: '2' }])
  await session.close()
}

assert.ok((await client.ping()).success)
for (const test of [insertsAndSelects, parameters, formats, streams, errorsAndCancels, sessions]) await test()
await client.close()
