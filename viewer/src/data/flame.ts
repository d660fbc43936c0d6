import type { Grouping } from './grouping.ts';
import type { Report } from './report.ts';

export const FLAME_METRICS = ['peak', 'cursor', 'end', 'window'] as const;
/** Bytes live at the peak, at the cursor or at the end, or all that the window allocated. */
export type FlameMetric = (typeof FLAME_METRICS)[number];

export interface FlameNode {
  name: string;
  bytes: number;
  count: number;
  group: number; // the one with most bytes, for the colour; -1 in a scope
  depth: number;
  start: number; // bytes of the siblings before, from the root's left edge
  children: FlameNode[];
  parent: FlameNode | null;
  /** Of a leaf: which rows it is made of. */
  leaf: { scope: number; site: number; op: number } | null;
}

const DEEPEST = 48;

interface Leaf {
  calls: number; // 0: its path is its scope
  scope: number;
  site: number;
  op: number;
  category: number; // of its first row
  bytes: number;
  count: number;
  groups: Float64Array;
}

export const FLAME_PATHS = ['calls', 'scope'] as const;
/** What leads to a line: the calls that made the tensor, or the scopes around it. */
export type FlamePath = (typeof FLAME_PATHS)[number];

/** The rows that `wants` chooses, as a tree: calls or parts of the scope's path, then op and line. */
export function buildFlame(
  report: Report,
  grouping: Grouping,
  wants: (row: number) => boolean,
  along: FlamePath = 'scope',
): FlameNode {
  const root = newNode('all', null);
  const inner = new Map<string, FlameNode>([['', root]]);
  for (const leaf of collectLeaves(report, grouping, wants, along)) {
    let node = root;
    let path = '';
    const parts = leaf.calls > 0
      ? (report.header.strings[leaf.calls] ?? '').split('\n')
      : (report.header.scopes[leaf.scope] ?? '').split('/');
    for (const part of shallow(parts)) {
      path += `\n${part}`;
      let next = inner.get(path);
      if (!next) {
        next = newNode(part, node);
        inner.set(path, next);
        node.children.push(next);
      }
      node = next;
    }
    const made = report.header.ops[leaf.op] || report.header.categories[leaf.category] || 'storage';
    const child = newNode(`${made} ${leaf.site > 0 ? report.siteName(leaf.site) : ''}`.trim(), node);
    child.bytes = leaf.bytes;
    child.count = leaf.count;
    child.group = leaf.groups.indexOf(Math.max(...leaf.groups));
    child.leaf = { scope: leaf.scope, site: leaf.site, op: leaf.op };
    node.children.push(child);
  }
  sumUp(root);
  place(root, 0);
  return root;
}

/** No deeper than a drawing makes sense; what is below keeps its path as one name. */
function shallow(path: string[]): string[] {
  const parts = path.filter((part) => part !== '');
  if (parts.length <= DEEPEST) return parts;
  return [...parts.slice(0, DEEPEST - 1), parts.slice(DEEPEST - 1).join('/')];
}

function collectLeaves(
  report: Report,
  grouping: Grouping,
  wants: (row: number) => boolean,
  along: FlamePath,
): Iterable<Leaf> {
  const { rows, header } = report;
  const leaves = new Map<number, Leaf>();
  const scopes = Math.max(header.scopes.length, 1);
  const sites = Math.max(header.sites.length, 1);
  const ops = Math.max(header.ops.length, 1);
  for (let row = 0; row < rows.count; row++) {
    if (!wants(row)) continue;
    const scope = rows.scope[row];
    const site = rows.site[row];
    const op = rows.op[row];
    const calls = along === 'calls' ? rows.calls[row] : 0;
    const key = ((calls * scopes + scope) * sites + site) * ops + op;
    let leaf = leaves.get(key);
    if (!leaf) {
      const category = rows.category[row];
      leaf = { calls, scope, site, op, category, bytes: 0, count: 0, groups: new Float64Array(grouping.size) };
      leaves.set(key, leaf);
    }
    leaf.bytes += rows.bytes[row];
    leaf.count++;
    leaf.groups[grouping.groupOf[row]] += rows.bytes[row];
  }
  return leaves.values();
}

function newNode(name: string, parent: FlameNode | null): FlameNode {
  const depth = parent ? parent.depth + 1 : 0;
  return { name, bytes: 0, count: 0, group: -1, depth, start: 0, children: [], parent, leaf: null };
}

/** Adds up from the leaves and orders siblings, largest first. */
function sumUp(node: FlameNode): void {
  for (const child of node.children) {
    sumUp(child);
    node.bytes += child.bytes;
    node.count += child.count;
  }
  node.children.sort((a, b) => b.bytes - a.bytes || (a.name < b.name ? -1 : 1));
}

function place(node: FlameNode, start: number): void {
  node.start = start;
  for (const child of node.children) {
    place(child, start);
    start += child.bytes;
  }
}
