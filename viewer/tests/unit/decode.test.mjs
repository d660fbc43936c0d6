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

test('narrow types and differences are widened', () => {
  const report = tiny([], [], [], {
    birth_ns: Uint32Array.from([5, 7, 20]), life_ns: Uint32Array.from([1, 0xffffffff, 2]), bytes: Uint16Array.from([1, 2, 3]),
  });
  assert.deepEqual([...report.rows.death], [6, Infinity, 22]);

  const bytes = packBytes({ ...small.header, series: [] }, { birth_ns: Uint32Array.from([5, 2, 13]), bytes: Uint8Array.from([1, 2, 3]) });
  const text = new TextDecoder().decode(bytes.subarray(4, 4 + new DataView(bytes.buffer).getUint32(0, true)));
  const patched = new TextEncoder().encode(text.replace('"type":"u32"', '"delta":true,"type":"u32"'));
  bytes.set(patched, 4);
  new DataView(bytes.buffer).setUint32(0, patched.length, true);
  assert.deepEqual([...decode(bytes.buffer).rows.birth], [5, 7, 20]);
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
