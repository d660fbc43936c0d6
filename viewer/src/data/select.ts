import { orderBy } from './order.ts';
import type { Report } from './report.ts';

export const ROW_FILTERS = ['all', 'never disposed', 'idle', 'at cursor', 'in window', 'made again'] as const;
export type RowFilter = (typeof ROW_FILTERS)[number];

/** Which rows a table shows. Ids narrow to one site, op or scope. */
export interface Selection {
  filter: RowFilter;
  text: string;
  window: readonly [number, number];
  cursor: number;
  only: { site?: number; op?: number; scope?: number } | null;
}

export const ROW_KEYS = ['birth', 'bytes', 'life', 'idle', 'shape', 'category', 'op', 'site',
  'scope'] as const;
export type RowKey = (typeof ROW_KEYS)[number];

/** The rows that match, as indices. */
export function selectRows(report: Report, selection: Selection): Uint32Array {
  const { rows, end } = report;
  const { filter, window, cursor, only } = selection;
  const matches = textMatcher(report, selection.text);
  const isHeld = only ? heldBy(report, only) : null;
  const found = new Uint32Array(rows.count);
  let count = 0;
  for (let row = 0; row < rows.count; row++) {
    if (only && isHeld![row] === 0) {
      if (only.site !== undefined && rows.site[row] !== only.site) continue;
      if (only.op !== undefined && rows.op[row] !== only.op) continue;
      if (only.scope !== undefined && rows.scope[row] !== only.scope) continue;
    }
    const birth = rows.birth[row];
    const death = rows.death[row];
    if (filter === 'never disposed' && death !== Infinity) continue;
    if (filter === 'at cursor' && !(birth <= cursor && death > cursor)) continue;
    if (filter === 'in window' && !(birth < window[1] && death > window[0])) continue;
    if (filter === 'idle' && !isMostlyIdle(rows.idle[row], Math.min(death, end) - birth)) continue;
    if (filter === 'made again' && rows.again[row] !== 1) continue;
    if (matches && !matches(row)) continue;
    found[count++] = row;
  }
  return found.slice(0, count);
}

/** By row: whether a tensor of that place holds it, or did. Views have no memory of their own, but share some. */
function heldBy({ rows, holders }: Report, { site, op, scope }: NonNullable<Selection['only']>): Uint8Array {
  const held = new Uint8Array(rows.count);
  if (scope !== undefined) return held;
  for (let i = 0; i < holders.count; i++) {
    if (site !== undefined && holders.site[i] !== site) continue;
    if (op !== undefined && holders.op[i] !== op) continue;
    held[holders.row[i]] = 1;
  }
  return held;
}

/** Idle for more than half of its life: it could have gone earlier. */
export function isMostlyIdle(idle: number, life: number): boolean {
  return idle > 0 && idle * 2 > life;
}

/**
 * Whether a row's texts contain every word, whatever the case. The lists of names are searched
 * once; a row then costs a few lookups.
 */
function textMatcher(report: Report, text: string): ((row: number) => boolean) | null {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return null;
  const { rows, header } = report;
  const sites = header.sites.map((_, site) => report.siteName(site));
  const searched = [
    [rows.op, header.ops], [rows.site, sites], [rows.scope, header.scopes],
    [rows.category, header.categories], [rows.shape, header.strings],
    [rows.name, header.strings], [rows.holders, header.strings],
  ] as const;
  const tables = words.map((word) =>
    searched.map(([column, names]) => ({
      column,
      hits: Uint8Array.from(names, (name) => (name.toLowerCase().includes(word) ? 1 : 0)),
    })),
  );
  return (row) =>
    tables.every((columns) => columns.some(({ column, hits }) => hits[column[row]] === 1));
}

/** Orders `selected` by a key; texts by the alphabet. */
export function orderRows(
  report: Report,
  selected: Uint32Array,
  key: RowKey,
  isDescending: boolean,
): Uint32Array {
  const value = keyOf(report, key);
  const keys = new Float64Array(selected.length);
  const sign = isDescending ? -1 : 1;
  for (let i = 0; i < keys.length; i++) keys[i] = sign * value(selected[i]);
  const order = orderBy(keys);
  for (let i = 0; i < order.length; i++) order[i] = selected[order[i]];
  return order;
}

function keyOf(report: Report, key: RowKey): (row: number) => number {
  const { rows, header, end } = report;
  const byName = (column: ArrayLike<number>, names: string[]): ((row: number) => number) => {
    const rank = new Float64Array(names.length);
    names
      .map((name, id) => ({ name, id }))
      .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
      .forEach(({ id }, place) => (rank[id] = place));
    return (row) => rank[column[row]];
  };
  switch (key) {
    case 'birth': return (row) => rows.birth[row];
    case 'bytes': return (row) => rows.bytes[row];
    case 'life': return (row) => Math.min(rows.death[row], end) - rows.birth[row];
    case 'idle': return (row) => rows.idle[row];
    case 'shape': return byName(rows.shape, header.strings);
    case 'category': return byName(rows.category, header.categories);
    case 'op': return byName(rows.op, header.ops);
    case 'site': return byName(rows.site, header.sites.map((_, site) => report.siteName(site)));
    case 'scope': return byName(rows.scope, header.scopes);
  }
}
