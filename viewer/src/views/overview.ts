import { h, surfaceOf } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { timeText } from '../ui/units.ts';
import { mixed } from '../ui/colors.ts';

const MARGIN = { left: 72, right: 12 };
const GRIP = 6;

/** The whole recording in a strip; the window on it can be drawn, moved and stretched. */
export class Overview implements View {
  private readonly canvas = h('canvas', { class: 'overview-canvas', role: 'img' });
  readonly element = h('div', { class: 'overview' }, this.canvas);
  private drag: { kind: 'move' | 'left' | 'right' | 'draw'; from: number } | null = null;

  constructor(private readonly page: Page) {
    this.canvas.addEventListener('pointerdown', (event) => this.grab(event));
    this.canvas.addEventListener('pointermove', (event) => this.move(event));
    this.canvas.addEventListener('pointerup', () => (this.drag = null));
    this.canvas.addEventListener('dblclick', () => page.zoomTo(page.report.begin, page.report.end));
  }

  private width(): number {
    return Math.max(1, this.canvas.clientWidth - MARGIN.left - MARGIN.right);
  }

  private xOf(t: number): number {
    const { begin, end } = this.page.report;
    return MARGIN.left + ((t - begin) / (end - begin)) * this.width();
  }

  private timeAt(x: number): number {
    const { begin, end } = this.page.report;
    const t = begin + ((x - MARGIN.left) / this.width()) * (end - begin);
    return Math.min(end, Math.max(begin, t));
  }

  private partAt(x: number): 'move' | 'left' | 'right' | 'draw' {
    const [left, right] = this.page.state.window.map((t) => this.xOf(t));
    if (Math.abs(x - left) <= GRIP) return 'left';
    if (Math.abs(x - right) <= GRIP) return 'right';
    const isAll = right - left >= this.width() - 1;
    return x > left && x < right && !isAll ? 'move' : 'draw';
  }

  private grab(event: PointerEvent): void {
    this.canvas.setPointerCapture(event.pointerId);
    this.drag = { kind: this.partAt(event.offsetX), from: this.timeAt(event.offsetX) };
  }

  private move(event: PointerEvent): void {
    const { page, drag } = this;
    const t = this.timeAt(event.offsetX);
    if (!drag) {
      const cursors = { move: 'grab', left: 'ew-resize', right: 'ew-resize', draw: 'crosshair' };
      this.canvas.style.cursor = cursors[this.partAt(event.offsetX)];
      return;
    }
    const [t0, t1] = page.state.window;
    if (drag.kind === 'move') {
      page.panBy((t - drag.from) / (t1 - t0));
      drag.from = t;
    } else if (drag.kind === 'left') {
      if (t < t1) page.zoomTo(t, t1);
    } else if (drag.kind === 'right') {
      if (t > t0) page.zoomTo(t0, t);
    } else if (Math.abs(this.xOf(t) - this.xOf(drag.from)) > 3) {
      page.zoomTo(Math.min(t, drag.from), Math.max(t, drag.from));
    }
  }

  render(): void {
    const surface = surfaceOf(this.canvas);
    if (!surface) return;
    const { context, height, ratio } = surface;
    const { palette, report, grouping, peak, state } = this.page;
    const width = this.width();
    const columns = grouping.levels.columns(report.begin, report.end, Math.round(width * ratio));
    const yOf = (bytes: number) => height - 2 - (height - 6) * (bytes / Math.max(peak, 1));
    context.fillStyle = mixed(palette.panel, palette.muted, 0.45);
    context.beginPath();
    context.moveTo(MARGIN.left, height - 2);
    columns.total.forEach((total, i) => {
      context.lineTo(MARGIN.left + (i / columns.width) * width, yOf(total));
      context.lineTo(MARGIN.left + ((i + 1) / columns.width) * width, yOf(total));
    });
    context.lineTo(MARGIN.left + width, height - 2);
    context.fill();

    const [left, right] = state.window.map((t) => this.xOf(t));
    context.fillStyle = palette.panel;
    context.globalAlpha = 0.6;
    context.fillRect(MARGIN.left, 0, left - MARGIN.left, height);
    context.fillRect(right, 0, MARGIN.left + width - right, height);
    context.globalAlpha = 1;
    context.strokeStyle = palette.muted;
    context.strokeRect(left + 0.5, 0.5, Math.max(1, right - left - 1), height - 1);
    context.fillStyle = palette.accent;
    context.fillRect(Math.round(this.xOf(state.cursor)), 0, 1, height);
    this.canvas.setAttribute('aria-label',
      `The whole recording of ${timeText(report.end - report.begin)}; the window is the part shown above.`);
  }
}
