import type { LevelColumns } from '../data/levels.ts';
import { edgesOf, rowAt } from '../data/stack.ts';
import { baseName, h, surfaceOf, visible } from '../ui/dom.ts';
import { listenToGestures } from '../ui/gestures.ts';
import type { Page, View } from '../ui/page.ts';
import type { Line, Tooltip } from '../ui/tooltip.ts';
import { bytesText, timeText } from '../ui/units.ts';
import { drawByteAxis, drawTimeAxis, type Plot, plotWithin } from './axes.ts';
import { Labels } from './labels.ts';
import { refusalText } from './limits.ts';
import { timeGestures } from './time_gestures.ts';
import { drawGrowth, drawLimits, drawRefusals, drawSteps } from './timeline_marks.ts';

const MARGIN = { left: 72, right: 12, top: 20, bottom: 24 };

/** Live bytes over time, stacked by group. */
export class Timeline implements View {
  readonly canvas = h('canvas', { tabindex: 0, role: 'img', class: 'timeline-canvas' });
  readonly element = h('div', { class: 'timeline' }, this.canvas);
  private plot: Plot = { left: 0, top: 0, width: 1, height: 1 };
  private shown: LevelColumns | null = null;
  private scale = 1; // bytes at the top
  private range: readonly [number, number] | null = null;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
    private readonly least = 1, // bytes at the top, so that two can be compared
  ) {
    listenToGestures(this.canvas, {
      ...timeGestures(page, () => this.plot),
      selecting: (range) => {
        this.range = range;
        page.schedule();
      },
      click: (event) => this.choose(event),
      hover: (event) => this.hover(event),
    });
    this.canvas.addEventListener('dblclick', () => page.zoomTo(page.report.begin, page.report.end));
  }

  private columnAt(x: number): number {
    const width = this.shown?.width ?? 1;
    const column = Math.floor(((x - this.plot.left) / this.plot.width) * width);
    return Math.min(Math.max(column, 0), width - 1);
  }

  /** Which group's area is at this point, and which storage in it. */
  private pointed(x: number, y: number): { group: number; row: number | null } | null {
    const { shown, page } = this;
    if (!shown) return null;
    const column = this.columnAt(x);
    let bytes = (1 - (y - this.plot.top) / this.plot.height) * this.scale;
    if (bytes < 0) return null;
    for (let group = 0; group < shown.groups; group++) {
      const level = shown.levels[column * shown.groups + group];
      if (bytes < level) {
        return { group, row: rowAt(page.report, page.grouping, shown.time[column], group, bytes) };
      }
      bytes -= level;
    }
    return null;
  }

  /** The cursor goes to the highest moment of the column, which is what the column shows. */
  private choose(event: MouseEvent): void {
    const { page, shown } = this;
    if (!shown) return;
    const refused = this.refusalAt(event.offsetX, event.offsetY);
    if (refused !== null) {
      return page.set({ cursor: page.report.header.refusals![refused].t, tab: 'limits', row: null });
    }
    page.set({
      cursor: shown.time[this.columnAt(event.offsetX)],
      metric: page.state.metric === 'peak' ? 'cursor' : page.state.metric,
      row: this.pointed(event.offsetX, event.offsetY)?.row ?? null,
    });
  }

  /** The refusal whose mark is at this point, by its place in the list. */
  private refusalAt(x: number, y: number): number | null {
    if (y > this.plot.top + 4) return null;
    const [t0, t1] = this.page.state.window;
    const refusals = this.page.report.header.refusals ?? [];
    const at = refusals.findIndex(({ t }) => Math.abs(this.plot.left + ((t - t0) / (t1 - t0)) * this.plot.width - x) <= 6);
    return at < 0 ? null : at;
  }

  private hover(event: MouseEvent | null): void {
    const { shown, page } = this;
    if (!event || !shown || shown.total.length === 0) return this.tooltip.hide();
    const refused = this.refusalAt(event.offsetX, event.offsetY);
    if (refused !== null) {
      const { title, lines } = refusalText(page.report, page.report.header.refusals![refused]);
      return this.tooltip.show(event, title, lines);
    }
    const column = this.columnAt(event.offsetX);
    const pointed = this.pointed(event.offsetX, event.offsetY);
    const lines: Line[] = page.grouping.names
      .map((name, group) => ({ name, group, bytes: shown.levels[column * shown.groups + group] }))
      .filter((each) => each.bytes > 0)
      .sort((a, b) => b.bytes - a.bytes)
      .slice(0, 8)
      .map(({ name, group, bytes }) => ({
        label: name, value: bytesText(bytes), color: page.groupColor(group),
        isStrong: group === pointed?.group,
      }));
    const title = `${timeText(shown.time[column])}   ${bytesText(shown.total[column])} live`;
    if (pointed?.row != null) {
      const { row } = pointed;
      const site = baseName(page.report.siteName(page.report.rows.site[row]));
      lines.push({ label: `${page.report.rowName(row)}  ${site}`, value: bytesText(page.report.rows.bytes[row]) });
    }
    this.tooltip.show(event, title, lines);
  }

  render(): void {
    const surface = surfaceOf(this.canvas);
    if (!surface) return;
    const { context, height, ratio } = surface;
    const { page } = this;
    const { palette, report, state, grouping } = page;
    const [t0, t1] = state.window;
    this.plot = plotWithin(surface, MARGIN);
    const { plot } = this;
    const columns = Math.max(1, Math.round(plot.width * ratio));
    this.shown = grouping.levels.columns(t0, t1, columns);
    let highest = 0;
    for (const total of this.shown.total) highest = Math.max(highest, total);
    this.scale = Math.max(highest, this.least) * 1.06;

    drawByteAxis(context, plot, 0, this.scale, palette);
    drawTimeAxis(context, plot, t0, t1, palette);
    const xOf = (t: number) => plot.left + ((t - t0) / (t1 - t0)) * plot.width;
    const yOf = (bytes: number) => plot.top + plot.height * (1 - bytes / this.scale);
    const labels = new Labels(context, plot, palette);
    drawSteps(context, plot, report.header.steps, xOf, palette, labels);
    this.drawStack(context, this.shown, yOf);
    this.drawEdges(context, xOf, yOf);

    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, height);
    context.clip();
    this.drawPeak(context, xOf, yOf, labels);
    drawRefusals(context, report.header.refusals ?? [], xOf, plot, palette);
    drawGrowth(context, report, page.stepLevels, xOf, yOf, plot, palette, labels);
    drawLimits(context, report, xOf, yOf, plot, palette, labels);
    this.drawChoice(context, xOf);
    context.restore();

    const label = `Live bytes from ${timeText(t0)} to ${timeText(t1)} by ${state.groupBy}, at most ` +
      `${bytesText(highest)}. Cursor at ${timeText(state.cursor)}. Arrow keys move, plus and minus zoom.`;
    this.canvas.setAttribute('aria-label', visible(label));
  }

  private drawStack(
    context: CanvasRenderingContext2D,
    shown: LevelColumns,
    yOf: (bytes: number) => number,
  ): void {
    const { plot, page } = this;
    const { width, groups, levels } = shown;
    const base = new Float64Array(width);
    const step = plot.width / width;
    for (let group = 0; group < groups; group++) {
      context.beginPath();
      for (let i = 0; i < width; i++) {
        const y = yOf(base[i] + levels[i * groups + group]);
        context.lineTo(plot.left + i * step, y);
        context.lineTo(plot.left + (i + 1) * step, y);
      }
      for (let i = width - 1; i >= 0; i--) {
        const y = yOf(base[i]);
        context.lineTo(plot.left + (i + 1) * step, y);
        context.lineTo(plot.left + i * step, y);
        base[i] += levels[i * groups + group];
      }
      context.globalAlpha = page.state.group === null || page.state.group === group ? 1 : 0.22;
      context.fillStyle = page.groupColor(group);
      context.fill();
    }
    context.globalAlpha = 1;
  }

  /** Where it is near enough, lines between the single storages. */
  private drawEdges(context: CanvasRenderingContext2D, xOf: (t: number) => number, yOf: (bytes: number) => number): void {
    const { page } = this;
    const [t0, t1] = page.state.window;
    const stretches = edgesOf(page.report, page.grouping, t0, t1);
    if (!stretches) return;
    context.fillStyle = page.palette.panel;
    context.globalAlpha = 0.5;
    for (const { from, until, edges } of stretches) {
      const x = xOf(from);
      const width = xOf(until) - x;
      let below = yOf(0);
      for (const edge of edges) {
        const y = yOf(edge);
        if (below - y < 3) continue;
        context.fillRect(x, y, width, 1);
        below = y;
      }
    }
    context.globalAlpha = 1;
  }

  private drawPeak(
    context: CanvasRenderingContext2D,
    xOf: (t: number) => number,
    yOf: (bytes: number) => number,
    labels: Labels,
  ): void {
    const { page, plot } = this;
    const x = xOf(page.peakTime);
    if (page.peak === 0 || x < plot.left || x > plot.left + plot.width) return;
    const y = Math.max(plot.top, yOf(page.peak));
    context.fillStyle = page.palette.text;
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
    const isLeft = x < plot.left + plot.width - 120;
    labels.add({
      text: `peak ${bytesText(page.peak)}`, x: x + (isLeft ? 7 : -7), y: y - 1, color: page.palette.text,
      align: isLeft ? 'left' : 'right',
    });
  }

  private drawChoice(context: CanvasRenderingContext2D, xOf: (t: number) => number): void {
    const { page, plot } = this;
    const { palette, state, report } = page;
    context.fillStyle = palette.accent;
    if (state.row !== null) {
      const left = xOf(report.rows.birth[state.row]);
      const right = xOf(Math.min(report.rows.death[state.row], report.end));
      context.fillRect(left, plot.top + plot.height - 1, Math.max(2, right - left), 4);
      context.globalAlpha = 0.12;
      context.fillRect(left, plot.top, Math.max(2, right - left), plot.height);
      context.globalAlpha = 1;
    }
    context.fillRect(Math.round(xOf(state.cursor)), plot.top - 6, 1, plot.height + 6);
    if (this.range) {
      const [left, right] = this.range.map(xOf);
      context.globalAlpha = 0.2;
      context.fillRect(left, plot.top, right - left, plot.height);
      context.globalAlpha = 1;
    }
  }
}
