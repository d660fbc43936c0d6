import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ofDevice } from '../../src/data/device.ts';
import { Levels } from '../../src/data/levels.ts';
import { liveAt, tiny } from './support.mjs';

const levelsOf = (report) => new Levels(report, new Uint8Array(report.rows.count), 1);

const both = tiny([0, 1, 2, 3, 5], [10, 4, Infinity, 2, 1], [100, 40, 7, 1000, 20],
  {
    device: Uint8Array.from([0, 1, 1, 0, 1]),
    holder_row: Uint32Array.from([0, 2, 4, 4]), holder_op: Uint8Array.from([1, 1, 2, 3]),
  },
  {
    base_bytes: 0, devices: ['cpu', 'cuda:0'],
    segments: [{ address: 0, bytes: 64, birth: 0, death: -1, device: 0, unit: 8 },
      { address: 64, bytes: 64, birth: 0, death: -1, device: 1, unit: 8 }],
    outside: [{ device: 1, total: 1000, t_ns: [0], bytes: [10] }],
  });

test('a device has its own rows, and what belongs to them', () => {
  const there = ofDevice(both, 1);
  assert.equal(there.rows.count, 3);
  assert.deepEqual([...there.rows.bytes], [40, 7, 20]);
  assert.deepEqual([...there.holders.row], [1, 2, 2]);
  assert.deepEqual([...there.holders.op], [1, 2, 3]);
  assert.deepEqual(there.header.segments.map(({ address }) => address), [64]);
  assert.equal(there.header.outside.length, 1);
  assert.equal(ofDevice(both, 0).header.outside.length, 0);
  assert.equal(both.rows.count, 5, 'the whole is as before');
});

test('levels of devices add up to those of all', () => {
  const parts = [0, 1].map((device) => ofDevice(both, device));
  for (let t = 0; t < 12; t += 0.5) {
    assert.equal(parts.reduce((sum, part) => sum + liveAt(part, t), 0), liveAt(both, t));
    for (const part of parts) assert.equal(levelsOf(part).at(t)[0], liveAt(part, t));
  }
  assert.equal(levelsOf(parts[1]).peak, 47);
});
