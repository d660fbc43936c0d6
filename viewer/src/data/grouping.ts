import { Levels } from './levels.ts';
import type { Column, Report } from './report.ts';

export const GROUPINGS = ['category', 'op', 'site', 'scope', 'thread', 'dtype'] as const;
export type GroupBy = (typeof GROUPINGS)[number];

/** So many groups have a colour of their own; the rest is one group, 'other'. */
export const NAMED_GROUPS = 11;

/** The rows divided into groups that a drawing can tell apart. */
export class Grouping {
  readonly names: string[];
  readonly groupOf: Uint8Array; // by row
  readonly levels: Levels;
  readonly groupOfId: Uint8Array; // by id in the header's list
  private readonly ids: number[]; // by group; the last is 'other' if there are too many

  constructor(
    readonly report: Report,
    readonly by: GroupBy,
    peakTime: number,
  ) {
    const column = report.rows[by];
    const names = idNames(report, by);
    const { weight, steadiness } = weigh(report, column, names.length, peakTime);
    const ranked = [...weight.keys()]
      .filter((id) => weight[id] > 0)
      .sort((a, b) => weight[b] - weight[a] || a - b);
    const named = ranked.length > NAMED_GROUPS + 1 ? ranked.slice(0, NAMED_GROUPS) : ranked;
    this.ids = named.sort((a, b) => steadiness[b] - steadiness[a] || a - b);
    this.names = this.ids.map((id) => names[id]);
    const hasOther = this.ids.length < ranked.length;
    if (hasOther) this.names.push(`${ranked.length - this.ids.length} others`);

    this.groupOfId = new Uint8Array(names.length).fill(hasOther ? this.names.length - 1 : 0);
    this.ids.forEach((id, group) => (this.groupOfId[id] = group));
    this.groupOf = new Uint8Array(report.rows.count);
    for (let row = 0; row < this.groupOf.length; row++) {
      this.groupOf[row] = this.groupOfId[column[row]];
    }
    this.levels = new Levels(report, this.groupOf, Math.max(this.names.length, 1));
  }

  get size(): number {
    return this.names.length;
  }

  isOther(group: number): boolean {
    return group >= this.ids.length;
  }
}

export function idNames(report: Report, by: GroupBy): string[] {
  const { header } = report;
  switch (by) {
    case 'category': return header.categories;
    case 'op': return header.ops.map((name) => name || '(no op)');
    case 'site': return header.sites.map((_, site) => report.siteName(site));
    case 'scope': return header.scopes.map((path) => path || '(no scope)');
    case 'thread': return Array.from({ length: 256 }, (_, thread) => `thread ${thread}`);
    case 'dtype': return header.dtypes;
  }
}

/**
 * What holds much, or holds much at the peak, gets a colour first: bytes times nanoseconds. What
 * lives long lies at the bottom of the stack, so that it does not dance on what comes and goes.
 */
function weigh(
  report: Report,
  column: Column,
  ids: number,
  peakTime: number,
): { weight: Float64Array; steadiness: Float64Array } {
  const { birth, death, bytes, count } = report.rows;
  const weight = new Float64Array(ids);
  const held = new Float64Array(ids);
  const allocated = new Float64Array(ids);
  for (let row = 0; row < count; row++) {
    const life = Math.min(death[row], report.end) - birth[row];
    const atPeak = birth[row] <= peakTime && death[row] > peakTime ? report.end : 0;
    const id = column[row];
    weight[id] += bytes[row] * (life + atPeak) + 1;
    held[id] += bytes[row] * life;
    allocated[id] += bytes[row];
  }
  return { weight, steadiness: held.map((each, id) => each / Math.max(allocated[id], 1)) };
}
