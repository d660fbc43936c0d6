// Search, the address, two recordings against each other, and which columns fit: their logic.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changesOf } from '../../src/data/difference.ts';
import { Searcher } from '../../src/data/search.ts';
import { fromAddress, toAddress } from '../../src/ui/address.ts';
import { fittingColumns } from '../../src/ui/table.ts';
import { synthesize } from '../synthetic.mjs';
import { reportOf } from './support.mjs';

const report = reportOf(synthesize());
const initial = {
  tab: 'flame', groupBy: 'op', metric: 'peak', window: [report.begin, report.end], cursor: 5, row: null, group: null,
  filter: 'all', text: '', only: null, plan: 0, planView: 'arena', budget: null, isDark: false,
};

test('an address holds every part of the state', () => {
  assert.equal(toAddress(initial, initial), '');
  const states = [
    { tab: 'sites' }, { groupBy: 'dtype' }, { metric: 'window' }, { window: [10, 2000.25] }, { cursor: 77 }, { row: 3 }, { group: 2 },
    { filter: 'at cursor' }, { text: 'a & b=c #1 \u00e9' }, { only: { site: 2 } }, { only: { op: 1, scope: 3 } }, { plan: 1 },
    { planView: 'what if' }, { budget: 3 },
  ];
  const all = Object.assign({}, ...states);
  for (const change of [...states, all]) {
    const state = { ...initial, ...change };
    assert.deepEqual({ ...initial, ...fromAddress(toAddress(state, initial), report, initial) }, state);
  }
});

test('an address is read as far as it makes sense', () => {
  for (const text of ['row=-1', 'row=1e99', 'row=0.5', 'from=5&to=5', 'from=9&to=1', 'tab=toString', 'site=', 'at=Infinity', '%%%', '&&=&']) {
    assert.deepEqual({ ...initial, ...fromAddress(text, report, initial) }, initial, text);
  }
});

test('a search finds what contains all words, largest first, few of each kind', () => {
  const searcher = new Searcher(report, 0);
  assert.deepEqual(searcher.find('  '), []);
  for (const text of ['mlp', 'block1 ATT', '.cpp:', 'train']) {
    const found = searcher.find(text);
    assert.ok(found.length > 0, text);
    const kinds = new Map();
    for (const { kind, name, bytes } of found) {
      for (const word of text.toLowerCase().split(' ')) assert.ok(name.toLowerCase().includes(word));
      const before = kinds.get(kind) ?? [];
      assert.ok(before.every((each) => each >= bytes) && before.length < 8);
      kinds.set(kind, [...before, bytes]);
    }
  }
});

test('a recording does not differ from itself, and differences add up', () => {
  const side = { report, peakTime: 1e6 };
  const other = { report: reportOf(synthesize({ steps: 12, leaks: false })), peakTime: 8e5 };
  const liveAt = ({ report: { rows }, peakTime }) =>
    rows.bytes.reduce((sum, bytes, i) => sum + (rows.birth[i] <= peakTime && rows.death[i] > peakTime ? bytes : 0), 0);
  for (const by of ['site', 'op', 'scope', 'category']) {
    assert.ok(changesOf(side, side, by).every(({ change, count, time }) => change === 0 && count[0] === count[1] && time[0] === time[1]));
    const changes = changesOf(side, other, by);
    assert.equal(changes.reduce((sum, { change }) => sum + change, 0), liveAt(other) - liveAt(side));
    const sizes = changes.map(({ change }) => Math.abs(change));
    assert.deepEqual(sizes, [...sizes].sort((a, b) => b - a));
  }
});

test('columns go in their order until the rest fits, and the others never', () => {
  const columns = [{ width: 100 }, { width: 50, spare: 1 }, { width: 50, spare: 2 }, { width: 80 }];
  assert.deepEqual(fittingColumns(columns, 1000), [0, 1, 2, 3]);
  assert.deepEqual(fittingColumns(columns, 340), [0, 1, 3]);
  assert.deepEqual(fittingColumns(columns, 250), [0, 3]);
  assert.deepEqual(fittingColumns(columns, 1), [0, 3]);
});
