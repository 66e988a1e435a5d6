// node-redis against a server: strings, hashes, transactions, pipelines, expiry, errors, RESP 2 and 3.
import assert from 'node:assert/strict';
import { createClient } from 'redis';

const port = Number(process.argv[2]);

for (const RESP of [2, 3]) {
  const client = createClient({ socket: { port, host: '127.0.0.1' }, RESP });
  client.on('error', (error) => { throw error; });
  await client.connect();
  await client.flushDb();
  assert.equal(await client.set('text', 'Grüße\n\0'), 'OK');
  assert.equal(await client.get('text'), 'Grüße\n\0');
  assert.equal(await client.get('missing'), null);
  assert.equal(await client.set('text', 'x', { NX: true }), null);
  assert.equal(await client.incrBy('count', 41), 41);
  assert.equal(await client.incr('count'), 42);
  assert.equal(await client.hSet('hash', { a: '1', b: '2' }), 2);
  assert.deepEqual({ ...await client.hGetAll('hash') }, { a: '1', b: '2' });
  assert.equal(await client.rPush('list', ['1', '2', '3']), 3);
  assert.deepEqual(await client.lRange('list', 0, -1), ['1', '2', '3']);
  assert.equal(await client.sAdd('set', ['a', 'b', 'a']), 2);
  await client.zAdd('zset', [{ score: 2, value: 'two' }, { score: 1, value: 'one' }]);
  assert.deepEqual(await client.zRangeWithScores('zset', 0, -1), [{ value: 'one', score: 1 }, { value: 'two', score: 2 }]);
  const replies = await client.multi().set('m', '1').incr('m').get('m').exec();
  assert.deepEqual(replies, ['OK', 2, '2']);
  const many = await Promise.all(Array.from({ length: 1000 }, (_, at) => client.set(`many:${at}`, String(at))));
  assert.equal(many.length, 1000);
  let found = 0;
  for await (const keys of client.scanIterator({ MATCH: 'many:*', COUNT: 100 })) found += [].concat(keys).length;
  assert.equal(found, 1000);
  assert.equal(await client.set('short', 'x', { PX: 20 }), 'OK');
  while (await client.exists('short')) await new Promise((done) => setTimeout(done, 5));
  await assert.rejects(client.incr('text'), /not an integer/);
  await assert.rejects(client.hGet('text', 'f'), /WRONGTYPE/);
  await client.close();
}
