import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Grouping, GROUPINGS, NAMED_GROUPS } from '../../src/data/grouping.ts';
import { Levels } from '../../src/data/levels.ts';
import { orderBy } from '../../src/data/order.ts';
import { edgesOf, rowAt } from '../../src/data/stack.ts';
import { liveAt, reportOf, tiny } from './support.mjs';

test('keys of all kinds are ordered, few and many', () => {
  for (const count of [0, 1, 100, 2048, 2049, 20000]) {
    const keys = Float64Array.from({ length: count }, (_, i) =>
      i % 97 === 0 ? Infinity : ((i * 7919) % 1000) * (i % 3 === 0 ? -1.5 : 1e9));
    const expected = [...keys.keys()].sort((a, b) => (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : a - b));
    assert.deepEqual([...orderBy(keys)], expected);
  }
});

test('the peak is that of the events', () => {
  const report = reportOf();
  const levels = new Levels(report, new Uint8Array(report.rows.count), 1);
  const moments = [...report.rows.birth];
  assert.equal(levels.peak, Math.max(...moments.map((t) => liveAt(report, t))));
  assert.equal(liveAt(report, levels.peakTime), levels.peak);
});

test('levels at a moment are those of the live rows, by group', () => {
  const report = reportOf();
  const { levels, groupOf } = new Grouping(report, 'op', 0);
  for (let i = 0; i <= 50; i++) {
    const t = (report.end * i) / 50;
    [...levels.at(t)].forEach((level, group) => {
      assert.equal(level, liveAt(report, t, (row) => groupOf[row] === group));
    });
  }
});

test('a column has the levels of its highest moment', () => {
  const report = reportOf();
  const { levels, groupOf, size } = new Grouping(report, 'category', 0);
  for (const [t0, t1, width] of [[0, report.end, 37], [report.end / 3, report.end / 2, 200], [0, 1000, 10]]) {
    const shown = levels.columns(t0, t1, width);
    for (let column = 0; column < width; column++) {
      const from = t0 + ((t1 - t0) * column) / width;
      const until = t0 + ((t1 - t0) * (column + 1)) / width;
      const moments = [...report.rows.birth, ...report.rows.death].filter((t) => t >= from && t < until);
      const before = Math.max(0, from - 1e-3);
      const highest = Math.max(liveAt(report, before), ...moments.map((t) => liveAt(report, t)));
      assert.equal(shown.total[column], highest);
      assert.ok(shown.time[column] >= from && shown.time[column] < until);
      if (shown.time[column] > from) assert.equal(liveAt(report, shown.time[column]), highest);
      const parts = shown.levels.subarray(column * size, (column + 1) * size);
      assert.equal(parts.reduce((sum, part) => sum + part, 0), highest);
      const at = [before, ...moments].find((t) => liveAt(report, t) === highest);
      assert.ok([before, ...moments].some((t) => liveAt(report, t) === highest &&
        [...parts].every((part, group) => part === liveAt(report, t, (row) => groupOf[row] === group))), `${at}`);
    }
  }
});

test('what dies as its successor is born does not count twice', () => {
  const report = tiny([0, 10, 20], [10, 10, Infinity], [100, 100, 100]);
  assert.equal(new Levels(report, new Uint8Array(3), 1).peak, 100);
});

test('a storage that lives for no time is counted', () => {
  const report = tiny([5, 5], [0, 3], [7, 1]);
  assert.equal(report.events.time.length, 4);
  assert.deepEqual([...new Levels(report, new Uint8Array(2), 1).at(9)], [0]);
});

test('there are never more groups than colours, and none loses a byte', () => {
  const names = Array.from({ length: 40 }, (_, i) => `op${i}`);
  const births = names.map((_, i) => i);
  const report = tiny(births, births.map(() => Infinity), births.map((i) => i + 1), { op: Uint8Array.from(births) }, { ops: names });
  const grouping = new Grouping(report, 'op', report.end);
  assert.equal(grouping.size, NAMED_GROUPS + 1);
  assert.equal(grouping.names.at(-1), '29 others');
  assert.ok(grouping.isOther(NAMED_GROUPS) && !grouping.isOther(0));
  assert.equal(grouping.levels.at(report.end).reduce((sum, each) => sum + each), (40 * 41) / 2);
});

test('a report without events has groups and columns too', () => {
  const report = tiny([], [], []);
  for (const by of GROUPINGS) {
    const { levels } = new Grouping(report, by, 0);
    assert.equal(levels.columns(0, 1, 4).total.length, 4);
    assert.equal(levels.peak, 0);
  }
});

test('a height of the stack is the storage that lies there, oldest lowest', () => {
  const report = tiny([0, 1, 2, 3], [9, 1, 9, 9], [10, 20, 30, 40], { op: Uint8Array.from([0, 0, 1, 0]) });
  const grouping = new Grouping(report, 'op', 5);
  const group = grouping.groupOf[0];
  assert.deepEqual([0, 9, 10, 49, 50].map((bytes) => rowAt(report, grouping, 4, group, bytes)), [0, 0, 3, 3, null]);
});

test('edges between storages are those of the live ones, or none if they are too many', () => {
  const report = reportOf();
  const grouping = new Grouping(report, 'op', 0);
  const t0 = report.end * 0.4;
  const stretches = edgesOf(report, grouping, t0, t0 + 3000);
  assert.ok(stretches.length > 2);
  assert.equal(stretches[0].from, t0);
  assert.equal(stretches.at(-1).until, t0 + 3000);
  for (const { from, until, edges } of stretches) {
    assert.equal(edges.at(-1), liveAt(report, (from + until) / 2));
    assert.ok(edges.every((edge, i) => i === 0 || edge >= edges[i - 1]));
  }

  const many = 300;
  const births = Array.from({ length: many }, (_, i) => i);
  const crowd = tiny(births, births.map(() => Infinity), births.map(() => 1));
  assert.equal(edgesOf(crowd, new Grouping(crowd, 'op', 0), 0, many), null);
  assert.equal(edgesOf(crowd, new Grouping(crowd, 'op', 0), 0, 100).length, 100);
});
