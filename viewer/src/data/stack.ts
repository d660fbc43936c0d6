import type { Grouping } from './grouping.ts';
import { lowerBound, type Report } from './report.ts';

// Within its group, the oldest storage lies at the bottom: rows are ordered by birth.

/** Which storage lies at a height of the stack at a moment, or null above it. */
export function rowAt(
  report: Report,
  grouping: Grouping,
  t: number,
  group: number,
  bytes: number, // above the group's lower edge
): number | null {
  let found: number | null = null;
  let left = bytes;
  report.forEachLive(t, (row) => {
    if (found !== null || grouping.groupOf[row] !== group) return;
    left -= report.rows.bytes[row];
    if (left < 0) found = row;
  });
  return found;
}

/** The edges between storages from one event to the next: heights in bytes, ascending. */
export interface Stretch {
  from: number;
  until: number;
  edges: Float64Array;
}

/** So many edges may be drawn; above, single storages could not be told apart anyway. */
const MOST_EDGES = 40_000;

/** The edges within [t0, t1], or null if there are too many to be seen. */
export function edgesOf(
  report: Report,
  grouping: Grouping,
  t0: number,
  t1: number,
): Stretch[] | null {
  const { time, of } = report.events;
  const { bytes } = report.rows;
  const first = lowerBound(time, t0);
  const last = lowerBound(time, t1);
  if (last - first > MOST_EDGES) return null;

  const before = (a: number, b: number) => grouping.groupOf[a] - grouping.groupOf[b] || a - b;
  const live: number[] = [];
  report.forEachLive(t0, (row) => live.push(row));
  if (live.length > MOST_EDGES) return null;
  live.sort(before);

  const stretches: Stretch[] = [];
  let drawn = 0;
  let from = t0;
  for (let e = first; ; e++) {
    const until = e < last ? time[e] : t1;
    if (until > from) {
      drawn += live.length + 1;
      if (drawn > MOST_EDGES) return null;
      stretches.push({ from, until, edges: heights(live, bytes) });
    }
    if (e >= last) return stretches;
    from = Math.max(until, t0);
    const row = of[e] >>> 1;
    const at = placeOf(live, row, before);
    const isThere = live[at] === row;
    if (of[e] & 1) {
      if (!isThere) live.splice(at, 0, row);
    } else if (isThere) {
      live.splice(at, 1);
    }
  }
}

function heights(live: number[], bytes: Float64Array): Float64Array {
  const edges = new Float64Array(live.length);
  let height = 0;
  for (let i = 0; i < live.length; i++) edges[i] = height += bytes[live[i]];
  return edges;
}

/** The first place whose row is not before `row`. */
function placeOf(live: number[], row: number, before: (a: number, b: number) => number): number {
  let low = 0;
  let high = live.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (before(live[middle], row) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
