import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildFlame } from '../../src/data/flame.ts';
import { Grouping } from '../../src/data/grouping.ts';
import { boxesOfPlan, boxesOfRows, paintBoxes } from '../../src/data/map.ts';
import { isMostlyIdle, orderRows, ROW_KEYS, selectRows } from '../../src/data/select.ts';
import { stepLevels, summarize } from '../../src/data/summary.ts';
import { byteTicks, bytesText, timeText, timeTicks } from '../../src/ui/units.ts';
import { liveAt, reportOf, small, tiny } from './support.mjs';

const report = reportOf();
const everything = { filter: 'all', text: '', window: [0, 0], cursor: 0, only: null };

test('the flame graph adds up on every level', () => {
  const t = report.end / 2;
  const { birth, death } = report.rows;
  const root = buildFlame(report, new Grouping(report, 'op', t), (row) => birth[row] <= t && death[row] > t);
  assert.equal(root.bytes, liveAt(report, t));
  const check = (node) => {
    let start = node.start;
    for (const child of node.children) {
      assert.equal(child.start, start);
      assert.ok(child.bytes <= node.bytes && child.parent === node);
      start += child.bytes;
      check(child);
    }
    if (!node.leaf) assert.equal(start, node.start + node.bytes);
  };
  check(root);
  assert.deepEqual(root.children.map((child) => child.name), ['model', 'step', 'data']);
});

test('a scope of any depth makes a tree of bounded depth', () => {
  const deep = tiny([0], [1], [8], { scope: Uint8Array.from([1]) }, { scopes: ['', 'a/'.repeat(100000)] });
  let depth = 0;
  for (let node = buildFlame(deep, new Grouping(deep, 'op', 0), () => true); node; node = node.children[0]) depth++;
  assert.ok(depth > 10 && depth < 100);
});

test('the flame graph is made of calls where they were recorded', () => {
  const strings = ['', 'main at a.cpp:9\nstep at a.cpp:4', 'main at a.cpp:9'];
  const called = tiny([0, 0, 0], [9, 9, 9], [8, 4, 2],
    { calls: Uint8Array.from([1, 2, 0]), scope: Uint8Array.from([1, 1, 1]) }, { strings, scopes: ['', 'train'] });
  const names = (along) => {
    const root = buildFlame(called, new Grouping(called, 'op', 0), () => true, along);
    const walk = (node) => [node.name, node.bytes, node.children.filter(({ leaf }) => !leaf).map(walk)];
    return walk(root);
  };
  assert.deepEqual(names('calls'),
    ['all', 14, [['main at a.cpp:9', 12, [['step at a.cpp:4', 8, []]]], ['train', 2, []]]]);
  assert.deepEqual(names('scope'), ['all', 14, [['train', 14, []]]]);
});

test('filters choose what they say', () => {
  const { birth, death, idle } = report.rows;
  const t = report.end / 3;
  const all = [...birth.keys()];
  const expected = {
    'all': () => true,
    'never disposed': (row) => death[row] === Infinity,
    'at cursor': (row) => birth[row] <= t && death[row] > t,
    'in window': (row) => birth[row] < t * 2 && death[row] > t,
    'idle': (row) => isMostlyIdle(idle[row], Math.min(death[row], report.end) - birth[row]),
  };
  for (const [filter, wants] of Object.entries(expected)) {
    const found = selectRows(report, { ...everything, filter, cursor: t, window: [t, t * 2] });
    assert.deepEqual([...found], all.filter(wants), filter);
    assert.ok(found.length > 0, filter);
  }
});

test('every word of a text must be found, in whatever case', () => {
  const { op, scope } = report.rows;
  const found = selectRows(report, { ...everything, text: ' SOFTmax  block1 ' });
  const expected = [...op.keys()].filter((row) =>
    report.header.ops[op[row]] === 'softmax' && report.header.scopes[scope[row]].includes('block1'));
  assert.deepEqual([...found], expected);
  assert.ok(expected.length > 0);
  assert.equal(selectRows(report, { ...everything, text: 'softmax nowhere' }).length, 0);
});

test('one line, op or scope can be singled out', () => {
  const { op, site } = report.rows;
  const found = selectRows(report, { ...everything, only: { op: 1, site: 15 } });
  assert.deepEqual([...found], [...op.keys()].filter((row) => op[row] === 1 && site[row] === 15));
});

test('rows are ordered by every key', () => {
  const all = selectRows(report, everything);
  for (const key of ROW_KEYS) {
    const rising = orderRows(report, all, key, false);
    const falling = orderRows(report, all, key, true);
    assert.equal(new Set(rising).size, all.length);
    assert.equal(new Set(falling).size, all.length);
  }
  const { bytes, op } = report.rows;
  const byBytes = orderRows(report, all, 'bytes', true);
  assert.ok(byBytes.every((row, i) => i === 0 || bytes[byBytes[i - 1]] >= bytes[row]));
  const names = [...orderRows(report, all, 'op', false)].map((row) => report.header.ops[op[row]]);
  assert.deepEqual(names, [...names].sort());
});

test('summaries add up', () => {
  const peakTime = report.end * 0.7;
  for (const by of ['site', 'op', 'scope', 'category']) {
    const all = summarize(report, by, peakTime);
    const sum = (key) => all.reduce((total, each) => total + each[key], 0);
    assert.equal(sum('count'), report.rows.count);
    assert.equal(sum('atPeak'), liveAt(report, peakTime));
    assert.equal(sum('atEnd'), liveAt(report, report.end));
  }
  assert.equal(summarize(report, 'op', 0).find(({ name }) => name === 'transpose').viewed, 90);
});

test('live bytes at step marks are those of the rows, growing lines apart', () => {
  const { total, ofGrowth } = stepLevels(report);
  const [grows] = report.header.growth;
  report.loop.times.forEach((t, step) => {
    assert.equal(total[step], liveAt(report, t));
    assert.equal(ofGrowth[0][step],
      liveAt(report, t, (row) => report.rows.site[row] === grows.site && report.rows.op[row] === grows.op));
  });
  assert.equal(ofGrowth[0].at(-1) - ofGrowth[0].at(-2), grows.bytes_per_step);
});

test('the map leaves out addresses that nobody used', () => {
  const far = 2 ** 44;
  const sparse = tiny([0, 1, 2, 3], [9, 9, 9, 9], [64, 64, 64, 64], {
    address: Float64Array.from([far + 64, -1, 128, far]),
  });
  const boxes = boxesOfRows(sparse);
  assert.deepEqual([...boxes.low], [64 + 3 + 64, -1, 0, 64 + 3]); // 3: a part of the 192 bytes in use
  assert.equal(boxes.extent, 64 + 3 + 128);
});

test('each pixel of a map belongs to the box that covers it', () => {
  const plan = small.header.plans[0];
  const buffers = [...plan.buffers].sort((a, b) => a.first - b.first);
  const boxes = boxesOfPlan(buffers, plan.arena);
  const positions = 14;
  const width = positions * 10;
  const height = 300;
  const owner = new Uint32Array(width * height);
  const pixels = new Uint32Array(width * height);
  paintBoxes(boxes, { t0: 0, t1: positions, low: 0, high: plan.arena, width, height }, (box) => box + 100, () => 7, pixels, owner);
  buffers.forEach((buffer, box) => {
    const x = Math.floor((buffer.first + 0.5) * 10);
    const y = Math.floor(height * (1 - (buffer.offset + buffer.bytes / 2) / plan.arena));
    assert.equal(owner[y * width + x], box + 1);
    assert.equal(pixels[y * width + x], box + 100);
  });
  assert.ok(owner.some((each) => each === 0));
});

test('figures are written with three digits', () => {
  assert.deepEqual([0, 1, 1023, 1024, 1536, 14.25 * 2 ** 20, 3 * 2 ** 30, -2048].map(bytesText),
    ['0 B', '1 B', '1023 B', '1 KiB', '1.50 KiB', '14.3 MiB', '3 GiB', '-2 KiB']);
  assert.deepEqual([0, 7, 1500, 2.5e6, 61e9].map(timeText), ['0 ns', '7 ns', '1.50 µs', '2.50 ms', '61 s']);
  assert.deepEqual(byteTicks(1000, 4), [0, 256, 512, 768]);
  const { ticks, text } = timeTicks(1.2e6, 1.9e6, 4);
  assert.deepEqual(ticks.map(text), ['1.2 ms', '1.4 ms', '1.6 ms', '1.8 ms']);
});
