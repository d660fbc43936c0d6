import type { Plan, PlanBuffer, Report } from './report.ts';

/** What a layer keeps from its way forth for its way back. */
export interface SavedLayer {
  scope: number;
  layer: string;
  bytes: number;
  buffers: number;
  ops: string;
}

export const SAVED = 'saved for backward';

export function layerName(report: Report, scope: number | undefined): string {
  return report.header.scopes[scope ?? 0] || '(no scope)';
}

export function kindName(report: Report, kind: number | undefined): string {
  return kind === undefined ? '' : report.header.categories[kind] ?? '';
}

/** By layer, the most bytes first. */
export function savedLayers(report: Report, plan: Plan): SavedLayer[] {
  const layers = new Map<number, SavedLayer & { byOp: Map<string, number> }>();
  for (const buffer of plan.buffers) {
    if (kindName(report, buffer.kind) !== SAVED || buffer.shown === false) continue;
    const scope = buffer.scope ?? 0;
    let layer = layers.get(scope);
    if (!layer) {
      layer = { scope, layer: layerName(report, scope), bytes: 0, buffers: 0, ops: '', byOp: new Map() };
      layers.set(scope, layer);
    }
    layer.bytes += buffer.bytes;
    layer.buffers++;
    layer.byOp.set(buffer.op, (layer.byOp.get(buffer.op) ?? 0) + buffer.bytes);
  }
  return [...layers.values()]
    .map(({ byOp, ...layer }) => ({
      ...layer,
      ops: [...byOp].sort((a, b) => b[1] - a[1]).map(([op]) => op).join(', '),
    }))
    .sort((a, b) => b.bytes - a.bytes || (a.layer < b.layer ? -1 : 1));
}

/** Buffers whose step computes what a budget would have computed again. */
export function againAt(plan: Plan, budget: number | null): Set<PlanBuffer> {
  const chosen = budget === null ? undefined : plan.what_if?.[budget];
  const { steps = [] } = plan;
  const units = new Set(chosen?.again.map(({ step }) => steps[step]?.unit));
  return new Set(plan.buffers.filter((buffer) =>
    chosen !== undefined && buffer.inside === undefined && units.has(steps[buffer.first]?.unit ?? -1)));
}
