import type { Report, StepMark } from '../data/report.ts';
import type { StepLevels } from '../data/summary.ts';
import { visible } from '../ui/dom.ts';
import type { Palette } from '../ui/colors.ts';
import { bytesText } from '../ui/units.ts';
import { drawHaloed, FONT, type Plot } from './axes.ts';

type Scale = (value: number) => number;

/** Where steps end: lines if there is room, numbers if there is more. */
export function drawSteps(
  context: CanvasRenderingContext2D,
  plot: Plot,
  steps: StepMark[],
  xOf: Scale,
  palette: Palette,
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
    if (x - labelled < 64 || x + 58 > plot.left + plot.width) return;
    labelled = x;
    context.fillStyle = palette.muted;
    context.fillText(visible(`${name || 'step'} ${step}`).slice(0, 12), x + 3, plot.top - 6);
  });
}

/** What the pool has reserved, and what budgets allow. */
export function drawLimits(
  context: CanvasRenderingContext2D,
  report: Report,
  xOf: Scale,
  yOf: Scale,
  plot: Plot,
  palette: Palette,
): void {
  const { pool, budgets } = report.header;
  context.strokeStyle = palette.muted;
  context.fillStyle = palette.muted;
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  context.setLineDash([5, 4]);
  if (pool.t_ns.length > 0) {
    const labelY = strokeSteps(context, pool.t_ns.map(xOf), pool.reserved.map(yOf), plot);
    if (labelY > plot.top) drawHaloed(context, 'reserved by the pool', plot.left + plot.width / 4, labelY - 2, palette);
  }
  context.strokeStyle = palette.warning;
  context.fillStyle = palette.warning;
  for (const { name, limit } of budgets) {
    const y = yOf(limit);
    if (y <= plot.top) continue;
    strokeSteps(context, [plot.left], [y], plot);
    drawHaloed(context, visible(`budget ${name} ${bytesText(limit)}`), plot.left + plot.width / 2, y - 2, palette);
  }
  context.setLineDash([]);
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
    if (i > 0) context.lineTo(xs[i], ys[i - 1]);
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
): void {
  const { growth } = report.header;
  if (growth.length === 0) return;
  const perStep = growth.reduce((sum, each) => sum + each.bytes_per_step, 0);
  context.font = FONT;
  context.fillStyle = palette.warning;
  context.strokeStyle = palette.warning;
  context.lineWidth = 1.5;
  context.beginPath();
  let lastX = -Infinity;
  let end = { x: 0, y: 0 };
  report.loop.times.forEach((t, step) => {
    const x = xOf(t);
    if (x - lastX < 2) return;
    lastX = x;
    end = { x, y: yOf(levels.total[step]) };
    context.lineTo(end.x, end.y);
  });
  context.stroke();
  context.lineWidth = 1;
  context.textAlign = 'right';
  context.textBaseline = 'bottom';
  const right = Math.min(end.x, plot.left + plot.width - 4);
  drawHaloed(context, `grows by ${bytesText(perStep)} a step`, right, end.y - 4, palette);
}
