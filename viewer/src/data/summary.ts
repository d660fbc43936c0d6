import { type GroupBy, idNames } from './grouping.ts';
import type { Report } from './report.ts';

/** What all rows of one site, op or scope have in common. */
export interface Summary {
  id: number;
  name: string;
  count: number;
  bytes: number; // all that was allocated
  atPeak: number;
  atEnd: number;
  liveAtEnd: number; // storages
  meanLife: number; // ns; what lives at the end counts until there
  idle: number; // bytes times ns after the last use
  reused: number; // of an op: calls that computed in place of an input
  viewed: number;
  time: number; // ns that its ops and kernels took, without what they called
  calls: number;
}

export function summarize(report: Report, by: GroupBy, peakTime: number): Summary[] {
  const { rows, end } = report;
  const column = rows[by];
  const all: Summary[] = idNames(report, by).map((name, id) => ({
    id, name, count: 0, bytes: 0, atPeak: 0, atEnd: 0, liveAtEnd: 0, meanLife: 0, idle: 0,
    reused: 0, viewed: 0, time: 0, calls: 0,
  }));
  for (let row = 0; row < rows.count; row++) {
    const summary = all[column[row]];
    const bytes = rows.bytes[row];
    const birth = rows.birth[row];
    const death = rows.death[row];
    summary.count++;
    summary.bytes += bytes;
    if (birth <= peakTime && death > peakTime) summary.atPeak += bytes;
    if (death === Infinity) {
      summary.atEnd += bytes;
      summary.liveAtEnd++;
    }
    summary.meanLife += Math.min(death, end) - birth;
    summary.idle += bytes * rows.idle[row];
  }
  const counts = by === 'op' ? report.header.op_counts : undefined;
  const spent = by === 'op' || by === 'site' || by === 'scope' ? report.header.time?.[by] : undefined;
  for (const summary of all) {
    if (summary.count > 0) summary.meanLife /= summary.count;
    summary.reused = counts?.reused[summary.id] ?? 0;
    summary.viewed = counts?.viewed[summary.id] ?? 0;
    summary.time = spent?.ns[summary.id] ?? 0;
    summary.calls = spent?.calls[summary.id] ?? 0;
  }
  return all.filter(({ count, reused, viewed, calls }) => count + reused + viewed + calls > 0);
}

/** Live bytes at each mark of the longest loop, and of them those of each growing place. */
export interface StepLevels {
  total: Float64Array;
  ofGrowth: Float64Array[]; // as header.growth
}

export function stepLevels(report: Report): StepLevels {
  const { growth } = report.header;
  const { rows } = report;
  const steps = report.loop.times;
  const total = new Float64Array(steps.length);
  const ofGrowth = growth.map(() => new Float64Array(steps.length));
  const growthOf = new Map<number, number>();
  const { ops } = report.header;
  const keyOf = (site: number, op: number) => site * ops.length + op;
  growth.forEach(({ site, op }, index) => growthOf.set(keyOf(site, op), index));

  // A row adds to all marks from its birth to its death: note both ends, then sum up.
  let step = 0;
  for (let row = 0; row < rows.count; row++) {
    while (step < steps.length && steps[step] < rows.birth[row]) step++;
    if (step === steps.length) break;
    if (rows.death[row] <= steps[step]) continue;
    const last = firstNotBefore(steps, rows.death[row], step);
    const series = growthOf.get(keyOf(rows.site[row], rows.op[row]));
    for (const levels of series === undefined ? [total] : [total, ofGrowth[series]]) {
      levels[step] += rows.bytes[row];
      if (last < steps.length) levels[last] -= rows.bytes[row];
    }
  }
  for (const levels of [total, ...ofGrowth]) {
    for (let i = 1; i < levels.length; i++) levels[i] += levels[i - 1];
  }
  return { total, ofGrowth };
}

function firstNotBefore(steps: number[], t: number, from: number): number {
  let low = from;
  let high = steps.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}
