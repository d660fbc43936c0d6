import type { Palette } from '../ui/colors.ts';
import { FONT, type Plot } from './axes.ts';

const HEIGHT = 13;
const GAP = 3;

export interface Label {
  text: string;
  x: number;
  y: number; // its lower edge
  color: string;
  align?: 'left' | 'right';
}

interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/**
 * Texts over a drawing, none on another: each goes where it is wanted, or a few lines higher or
 * lower, or not at all. Those that were added first are placed first.
 */
export class Labels {
  private readonly taken: Box[] = [];

  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly plot: Plot,
    private readonly palette: Palette,
  ) {}

  /** Nothing goes where this text stands already; `y` is its lower edge. */
  take(left: number, right: number, y: number): void {
    this.taken.push({ left: left - GAP, right: right + GAP, top: y - HEIGHT, bottom: y });
  }

  /** Whether there was room. */
  add({ text, x, y, color, align = 'left' }: Label): boolean {
    const { context, plot } = this;
    context.font = FONT;
    const width = context.measureText(text).width;
    const wanted = align === 'left' ? x : x - width;
    const left = Math.max(plot.left, Math.min(wanted, plot.left + plot.width - width));
    for (const shift of [0, -HEIGHT, HEIGHT, -2 * HEIGHT, 2 * HEIGHT]) {
      const bottom = Math.max(y + shift, plot.top);
      const box = { left: left - GAP, right: left + width + GAP, top: bottom - HEIGHT, bottom };
      if (bottom > plot.top + plot.height || this.taken.some((other) => overlap(box, other))) continue;
      this.taken.push(box);
      this.draw(text, left, bottom, color);
      return true;
    }
    return false;
  }

  /** Text that stays readable on any ground. */
  private draw(text: string, x: number, y: number, color: string): void {
    const { context } = this;
    context.save();
    context.textAlign = 'left';
    context.textBaseline = 'bottom';
    context.setLineDash([]);
    context.strokeStyle = this.palette.panel;
    context.fillStyle = color;
    context.lineWidth = 3;
    context.lineJoin = 'round';
    context.globalAlpha = 0.85;
    context.strokeText(text, x, y);
    context.globalAlpha = 1;
    context.fillText(text, x, y);
    context.restore();
  }
}

function overlap(a: Box, b: Box): boolean {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
