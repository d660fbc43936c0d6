import type { Report } from './report.ts';
import type { Selection } from './select.ts';
import { summarize } from './summary.ts';

export interface Found {
  kind: 'line' | 'op' | 'scope' | 'tensor' | 'step' | 'plan' | 'budget';
  name: string;
  bytes: number; // at the peak, or of itself
  /** Where a choice of it leads. */
  only?: Selection['only'];
  row?: number;
  time?: number;
  plan?: number;
}

const MOST_OF_A_KIND = 8;

/** Finds names of all kinds that contain every word; the largest of each kind first. */
export class Searcher {
  private all: Found[] | null = null;

  constructor(
    private readonly report: Report,
    private readonly peakTime: number,
  ) {}

  find(text: string): Found[] {
    const words = text.toLowerCase().split(/\s+/).filter((word) => word !== '');
    if (words.length === 0) return [];
    this.all ??= everything(this.report, this.peakTime);
    const counts = new Map<string, number>();
    return this.all.filter(({ kind, name }) => {
      const lower = name.toLowerCase();
      if (!words.every((word) => lower.includes(word))) return false;
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      return count <= MOST_OF_A_KIND;
    });
  }
}

function everything(report: Report, peakTime: number): Found[] {
  const found: Found[] = [];
  for (const [by, kind] of [['site', 'line'], ['op', 'op'], ['scope', 'scope']] as const) {
    for (const { id, name, atPeak } of summarize(report, by, peakTime)) {
      if (id > 0) found.push({ kind, name, bytes: atPeak, only: { [by]: id } });
    }
  }
  const { rows, header } = report;
  const seen = new Set<number>();
  for (let row = 0; row < rows.count; row++) {
    if (rows.name[row] === 0 || seen.has(rows.name[row])) continue;
    seen.add(rows.name[row]);
    found.push({ kind: 'tensor', name: header.strings[rows.name[row]], bytes: rows.bytes[row], row });
  }
  const steps = new Map<string, number>();
  for (const { t, name } of header.steps) {
    const step = steps.get(name) ?? 0;
    steps.set(name, step + 1);
    found.push({ kind: 'step', name: `${name || 'step'} ${step}`, bytes: 0, time: t });
  }
  header.plans.forEach(({ name, arena }, plan) => found.push({ kind: 'plan', name, bytes: arena, plan }));
  for (const { name, limit } of header.budgets) found.push({ kind: 'budget', name, bytes: limit });
  const order = ['line', 'op', 'scope', 'tensor', 'plan', 'budget', 'step'];
  return found.sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind) || b.bytes - a.bytes);
}
