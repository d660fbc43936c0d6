import type { Palette } from '../ui/colors.ts';
import { byteTicks, bytesText, timeTicks } from '../ui/units.ts';

export const FONT = '11px ui-sans-serif, system-ui, sans-serif';

/** The part of a canvas in which the data are drawn. */
export interface Plot {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** What margins leave of a surface. */
export function plotWithin(
  { width, height }: { width: number; height: number },
  margin: { left: number; right: number; top: number; bottom: number },
): Plot {
  return {
    left: margin.left,
    top: margin.top,
    width: Math.max(1, width - margin.left - margin.right),
    height: Math.max(1, height - margin.top - margin.bottom),
  };
}

export function drawTimeAxis(
  context: CanvasRenderingContext2D,
  plot: Plot,
  t0: number,
  t1: number,
  palette: Palette,
): void {
  const { ticks, text } = timeTicks(t0, t1, plot.width / 110);
  context.font = FONT;
  context.textBaseline = 'top';
  context.textAlign = 'center';
  for (const tick of ticks) {
    const x = plot.left + ((tick - t0) / (t1 - t0)) * plot.width;
    context.fillStyle = palette.line;
    context.fillRect(Math.round(x), plot.top + plot.height, 1, 4);
    context.fillStyle = palette.muted;
    const label = text(tick);
    const half = context.measureText(label).width / 2;
    const inside = Math.min(Math.max(x, plot.left + half - 8), plot.left + plot.width - half);
    context.fillText(label, inside, plot.top + plot.height + 7);
  }
}

/** Lines across the plot with their bytes at the left; `low` is at the bottom. */
export function drawByteAxis(
  context: CanvasRenderingContext2D,
  plot: Plot,
  low: number,
  high: number,
  palette: Palette,
): void {
  context.font = FONT;
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  const step = byteTicks(high - low, plot.height / 44)[1] ?? 0;
  const first = step > 0 ? Math.ceil(low / step) * step : low;
  for (let tick = first; tick <= high; tick += step) {
    const y = plot.top + plot.height * (1 - (tick - low) / (high - low || 1));
    context.fillStyle = palette.line;
    context.fillRect(plot.left, Math.round(y), plot.width, 1);
    context.fillStyle = palette.muted;
    context.fillText(bytesText(tick), plot.left - 8, y);
    if (step === 0) break;
  }
}
