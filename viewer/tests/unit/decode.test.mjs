import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { decode, ReportError, unpack } from '../../src/data/decode.ts';
import { packBytes } from '../page.mjs';
import { reportOf, small, tiny } from './support.mjs';

test('columns come back as they were written', () => {
  const { rows, header } = reportOf();
  assert.equal(rows.count, small.columns.birth_ns.length);
  assert.deepEqual([...rows.bytes], [...small.columns.bytes]);
  assert.deepEqual([...rows.site], [...small.columns.site]);
  assert.equal(rows.death[0], Infinity);
  assert.equal(header.program, small.header.program);
});

test('base64 and zlib are undone', async () => {
  const bytes = packBytes(small.header, small.columns);
  const buffer = await unpack(`${deflateSync(bytes).toString('base64')}\n`);
  assert.deepEqual(new Uint8Array(buffer), bytes);
});

test('narrow types are widened', () => {
  const report = tiny([], [], [], {
    birth_ns: Uint32Array.from([5, 7, 20]), death_ns: Uint16Array.from([6, 9, 22]), bytes: Uint8Array.from([1, 2, 3]),
  });
  assert.deepEqual([...report.rows.death], [6, 9, 22]);
  assert.deepEqual([...report.rows.bytes], [1, 2, 3]);
});

test('what was live before any row is a row of its own', () => {
  const { rows, header } = tiny([5], [1], [8], { category: Uint8Array.from([3]) }, { base_bytes: 1000 });
  assert.deepEqual([...rows.bytes], [1000, 8]);
  assert.deepEqual([...rows.death], [Infinity, 6]);
  assert.deepEqual([...rows.category].map((id) => header.categories[id]), ['before the recording', 'activation']);
  assert.deepEqual([...rows.disposedSite], [-1, -1]);
});

test('idle time runs from the last use, or from birth', () => {
  const { rows } = tiny([10, 10, 10], [20, Infinity, 5], [1, 1, 1],
    { last_use_ns: Float64Array.from([12, 50, -1]) }, { duration_ns: 100 });
  assert.deepEqual([...rows.idle], [18, 50, 5]);
});

test('the longest loop is the one with most marks', () => {
  const steps = [{ t: 1, name: 'a' }, { t: 2, name: 'b' }, { t: 3, name: 'b' }];
  const report = tiny([0], [1], [1], {}, { steps });
  assert.deepEqual(report.loop, { name: 'b', times: [2, 3], isMarked: true });
  assert.deepEqual(report.steps, [1, 2, 3]);
});

test('missing columns have their defaults', () => {
  const { rows } = tiny([1, 2], [1, 1], [8, 8]);
  assert.deepEqual([...rows.address], [-1, -1]);
  assert.deepEqual([...rows.disposedSite], [-1, -1]);
  assert.deepEqual([...rows.op], [0, 0]);
});

test('what is not a report is refused with a reason', async () => {
  const bytes = packBytes(small.header, small.columns);
  const refuses = (change, reason) => {
    const copy = bytes.slice();
    assert.throws(() => decode((change(copy) ?? copy).slice().buffer), (error) =>
      error instanceof ReportError && reason.test(error.message));
  };
  refuses((copy) => copy.subarray(0, 3), /no header/);
  refuses((copy) => copy.subarray(0, 100), /no header/);
  refuses((copy) => copy.subarray(0, copy.length - 4096), /does not lie within/);
  refuses((copy) => { copy[10] = 0; }, /not JSON/);
  const { header, columns } = small;
  refuses(() => packBytes({ ...header, version: 2 }, columns), /version 2/);
  refuses(() => packBytes({ ...header, sites: null }, columns), /'sites'/);
  refuses(() => packBytes({ ...header, ops: ['one'] }, columns), /'op' names entry/);
  refuses(() => packBytes(header, { ...columns, birth_ns: columns.birth_ns.slice().reverse() }), /not ordered/);
  refuses(() => packBytes(header, { ...columns, bytes: columns.bytes.slice(1) }), /'bytes' has/);
  refuses(() => packBytes(header, {}), /'birth_ns'/);
  await assert.rejects(unpack('not base64 !'), ReportError);
  await assert.rejects(unpack(btoa('not zlib')), ReportError);
});

test('every cut of a report is refused or read, never something else', () => {
  const bytes = packBytes(small.header, small.columns);
  for (let end = 0; end < bytes.length; end += 997) {
    try {
      decode(bytes.slice(0, end).buffer);
    } catch (error) {
      assert.ok(error instanceof ReportError, String(error));
    }
  }
});
