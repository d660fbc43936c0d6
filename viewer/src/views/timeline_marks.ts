import type { Report } from '../data/report.ts';
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
  steps: number[],
  xOf: Scale,
  palette: Palette,
): void {
  if (steps.length === 0) return;
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'alphabetic';
  let drawn = -Infinity;
  let labelled = -Infinity;
  steps.forEach((t, step) => {
    const x = xOf(t);
    if (x < plot.left || x > plot.left + plot.width || x - drawn < 5) return;
    drawn = x;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), plot.top - 6, 1, plot.height + 6);
    if (x - labelled < 56 || x + 50 > plot.left + plot.width) return;
    labelled = x;
    context.fillStyle = palette.muted;
    context.fillText(`step ${step}`, x + 3, plot.top - 6);
  });
}

/** What the pool reserved, what a budget allows: lines that change in steps. */
export function drawSeries(
  context: CanvasRenderingContext2D,
  report: Report,
  xOf: Scale,
  yOf: Scale,
  plot: Plot,
  palette: Palette,
): void {
  context.strokeStyle = palette.muted;
  context.fillStyle = palette.muted;
  context.font = FONT;
  context.textAlign = 'left';
  context.textBaseline = 'bottom';
  for (const { name, t, v } of report.header.series ?? []) {
    const times = report.columns.get(t);
    const values = report.columns.get(v);
    if (!times || !values || times.length === 0) continue;
    context.setLineDash([5, 4]);
    context.beginPath();
    let y = yOf(0);
    let labelY = y;
    let lastX = -Infinity;
    for (let i = 0; i < times.length; i++) {
      const x = xOf(times[i]);
      if (x > plot.left + plot.width) break;
      if (x - lastX < 0.5 && i + 1 < times.length && yOf(values[i]) >= y) continue;
      if (lastX > -Infinity) context.lineTo(x, y);
      y = yOf(values[i]);
      if (x <= plot.left + plot.width / 4) labelY = y;
      context.lineTo(x, y);
      lastX = x;
    }
    context.lineTo(plot.left + plot.width, y);
    context.stroke();
    context.setLineDash([]);
    if (labelY > plot.top) {
      drawHaloed(context, visible(name), plot.left + plot.width / 4, labelY - 2, palette);
    }
  }
}

/** Moments worth a flag, and the line of growth through the step marks. */
export function drawFlags(
  context: CanvasRenderingContext2D,
  report: Report,
  levels: StepLevels,
  xOf: Scale,
  yOf: Scale,
  plot: Plot,
  palette: Palette,
): void {
  context.font = FONT;
  context.fillStyle = palette.warning;
  context.strokeStyle = palette.warning;
  for (const { t_ns, text } of report.header.marks ?? []) {
    const x = Math.round(xOf(t_ns));
    context.fillRect(x, plot.top - 6, 1, plot.height + 6);
    context.beginPath();
    context.moveTo(x, plot.top - 6);
    context.lineTo(x + 7, plot.top - 2);
    context.lineTo(x, plot.top + 2);
    context.fill();
    context.textAlign = 'left';
    context.textBaseline = 'top';
    drawHaloed(context, visible(text).slice(0, 60), x + 6, plot.top + 4, palette);
  }

  const { steps, growth } = report.header;
  if (growth.length === 0) return;
  const perStep = growth.reduce((sum, each) => sum + each.bytes, 0);
  context.lineWidth = 1.5;
  context.beginPath();
  let lastX = -Infinity;
  let end = { x: 0, y: 0 };
  for (let step = 0; step < steps.length; step++) {
    const x = xOf(steps[step]);
    if (x - lastX < 2) continue;
    lastX = x;
    end = { x, y: yOf(levels.total[step]) };
    context.lineTo(end.x, end.y);
  }
  context.stroke();
  context.lineWidth = 1;
  context.textAlign = 'right';
  context.textBaseline = 'bottom';
  const right = Math.min(end.x, plot.left + plot.width - 4);
  drawHaloed(context, `grows by ${bytesText(perStep)} a step`, right, end.y - 4, palette);
}
