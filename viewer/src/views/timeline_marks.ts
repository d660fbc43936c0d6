import type { Refusal, Report, StepMark } from '../data/report.ts';
import type { StepLevels } from '../data/summary.ts';
import { visible } from '../ui/dom.ts';
import type { Palette } from '../ui/colors.ts';
import { bytesText } from '../ui/units.ts';
import { FONT, type Plot } from './axes.ts';
import type { Labels } from './labels.ts';

type Scale = (value: number) => number;

/** Where steps end: lines if there is room, numbers if there is more. */
export function drawSteps(
  context: CanvasRenderingContext2D,
  plot: Plot,
  steps: StepMark[],
  xOf: Scale,
  palette: Palette,
  labels: Labels,
): void {
  if (steps.length === 0) return;
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  let drawn = -Infinity;
  let labelled = -Infinity;
  const counts = new Map<string, number>();
  steps.forEach(({ t, name }) => {
    const step = counts.get(name) ?? 0;
    counts.set(name, step + 1);
    const x = xOf(t);
    if (x < plot.left || x > plot.left + plot.width || x - drawn < 5) return;
    drawn = x;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), plot.top - 6, 1, plot.height + 6);
    const text = shortened(visible(name || 'step'), 10) + ` ${step}`;
    const end = x + 3 + context.measureText(text).width;
    if (x + 3 < labelled || end > plot.left + plot.width) return;
    labelled = end + 14;
    context.fillStyle = palette.muted;
    context.fillText(text, x + 3, plot.top - 6);
    labels.take(x + 3, end, plot.top - 3);
  });
}

export function shortened(name: string, most: number): string {
  return name.length <= most ? name : `${name.slice(0, most - 1)}\u2026`;
}

/** What the pool has reserved; where that is above all that is shown, a text on top. */
export function drawLimits(
  context: CanvasRenderingContext2D,
  report: Report,
  xOf: Scale,
  yOf: Scale,
  plot: Plot,
  palette: Palette,
  labels: Labels,
): void {
  const { pool } = report.header;
  context.strokeStyle = palette.muted;
  context.setLineDash([5, 4]);
  if (pool.t_ns.length > 0) {
    const labelY = strokeSteps(context, pool.t_ns.map(xOf), pool.reserved.map(yOf), plot);
    const most = pool.reserved.reduce((high, each) => Math.max(high, each), 0);
    const text = labelY > plot.top ? 'reserved by the pool' : `reserved by the pool: up to ${bytesText(most)} \u2191`;
    labels.add({ text, x: plot.left + plot.width / 4, y: Math.max(labelY - 2, plot.top + 14), color: palette.muted });
  }
  context.setLineDash([]);
}

/** Where allocations were refused: a mark on top. */
export function drawRefusals(
  context: CanvasRenderingContext2D,
  refusals: Refusal[],
  xOf: Scale,
  plot: Plot,
  palette: Palette,
): void {
  context.fillStyle = palette.warning;
  let drawn = -Infinity;
  for (const { t } of refusals) {
    const x = xOf(t);
    if (x < plot.left || x > plot.left + plot.width || x - drawn < 2) continue;
    drawn = x;
    context.beginPath();
    context.moveTo(x, plot.top + 2);
    context.lineTo(x - 5, plot.top - 8);
    context.lineTo(x + 5, plot.top - 8);
    context.fill();
    context.globalAlpha = 0.35;
    context.fillRect(x, plot.top, 1, plot.height);
    context.globalAlpha = 1;
  }
}

/** A line that changes in steps; returns its height at a quarter of the plot, for a label. */
function strokeSteps(context: CanvasRenderingContext2D, xs: number[], ys: number[], plot: Plot): number {
  const right = plot.left + plot.width;
  let labelY = ys[0];
  let drawnX = -Infinity;
  context.beginPath();
  for (let i = 0; i < xs.length && xs[i] <= right; i++) {
    const isLast = i + 1 === xs.length || xs[i + 1] > right;
    if (xs[i] - drawnX < 0.5 && !isLast) continue;
    if (i > 0) {
      // What changed within half a pixel is one step, where it began.
      if (drawnX > -Infinity) context.lineTo(drawnX, ys[i - 1]);
      context.lineTo(xs[i], ys[i - 1]);
    }
    context.lineTo(xs[i], ys[i]);
    drawnX = xs[i];
    if (xs[i] <= plot.left + plot.width / 4) labelY = ys[i];
    if (isLast) context.lineTo(right, ys[i]);
  }
  context.stroke();
  return labelY;
}

/** The line of growth through the step marks. */
export function drawGrowth(
  context: CanvasRenderingContext2D,
  report: Report,
  levels: StepLevels,
  xOf: Scale,
  yOf: Scale,
  plot: Plot,
  palette: Palette,
  labels: Labels,
): void {
  const { growth } = report.header;
  if (growth.length === 0) return;
  const { isMarked } = report.loop;
  const amount = growth.reduce((sum, each) => sum + (isMarked ? each.bytes_per_step : each.bytes ?? 0), 0);
  const since = growth.reduce((first, { since_ns = 0 }) => Math.min(first, since_ns), Infinity);
  context.strokeStyle = palette.warning;
  context.lineWidth = 1.5;
  context.beginPath();
  let lastX = -Infinity;
  let end = { x: 0, y: 0 };
  report.loop.times.forEach((t, step) => {
    const x = xOf(t);
    if (t < since || x - lastX < 2) return;
    lastX = x;
    end = { x, y: yOf(levels.total[step]) };
    context.lineTo(end.x, end.y);
  });
  context.stroke();
  context.lineWidth = 1;
  const text = amount > 0 ? `grows by ${bytesText(amount)}${isMarked ? ' a step' : ''}` : 'it grows';
  labels.add({ text, x: Math.min(end.x, plot.left + plot.width - 4), y: end.y - 4, color: palette.warning, align: 'right' });
}
