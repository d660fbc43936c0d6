import { type GroupBy, idNames } from './grouping.ts';
import type { Report } from './report.ts';

export const COMPARED = ['site', 'op', 'scope', 'category'] as const satisfies readonly GroupBy[];
export type Compared = (typeof COMPARED)[number];

/** What one line, op, scope or category had in two recordings. */
export interface Change {
  name: string;
  before: number; // bytes at the peak
  after: number;
  change: number;
  allocated: [number, number];
  count: [number, number];
  time: [number, number]; // ns
}

export interface Side {
  report: Report;
  peakTime: number;
}

/** By name: the numbers of two recordings have nothing in common, and neither have their folders. */
export function changesOf(before: Side, after: Side, by: Compared): Change[] {
  const changes = new Map<string, Change>();
  for (const [side, { report, peakTime }] of [before, after].entries()) {
    const names = idNames(report, by).map((name) => (by === 'site' ? name.slice(name.lastIndexOf('/') + 1) : name));
    const of = (id: number): Change => {
      let change = changes.get(names[id]);
      if (!change) {
        change = { name: names[id], before: 0, after: 0, change: 0, allocated: [0, 0], count: [0, 0], time: [0, 0] };
        changes.set(names[id], change);
      }
      return change;
    };
    const { rows, header } = report;
    for (let row = 0; row < rows.count; row++) {
      const change = of(rows[by][row]);
      change.allocated[side] += rows.bytes[row];
      change.count[side]++;
      if (rows.birth[row] > peakTime || rows.death[row] <= peakTime) continue;
      if (side === 0) change.before += rows.bytes[row];
      else change.after += rows.bytes[row];
    }
    const spent = by === 'category' ? undefined : header.time?.[by];
    spent?.ns.forEach((ns, id) => { if (ns > 0) of(id).time[side] += ns; });
  }
  return [...changes.values()]
    .map((each) => ({ ...each, change: each.after - each.before }))
    .sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || Math.max(b.before, b.after) - Math.max(a.before, a.after));
}
