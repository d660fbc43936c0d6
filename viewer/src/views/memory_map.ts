import { type Boxes, boxesOfRows } from '../data/map.ts';
import { lowerBound } from '../data/report.ts';
import { baseName, h, visible } from '../ui/dom.ts';
import { listenToGestures } from '../ui/gestures.ts';
import { mixed } from '../ui/colors.ts';
import type { Page, View } from '../ui/page.ts';
import type { Tooltip } from '../ui/tooltip.ts';
import { bytesText, timeText } from '../ui/units.ts';
import { drawTimeAxis } from './axes.ts';
import { BoxCanvas } from './box_canvas.ts';
import { timeAxis, timeGestures } from './time_gestures.ts';

/** The pool's addresses over the window's time: where each storage lay, and what lay idle. */
export class MemoryMap implements View {
  private readonly drawing = new BoxCanvas();
  private readonly use = h('span', { class: 'muted', title: 'How much is in use up to the highest address; ranges that nothing ever used are left out. Fragmented: the share of free memory that is not in its largest piece.' });
  readonly controls = h('div', { class: 'row' }, [
    h('button', { type: 'button', class: 'quiet' }, 'all addresses', { click: () => this.showAll() }),
    this.use,
  ]);
  readonly element = h('div', { class: 'fill' }, this.drawing.canvas);
  private boxes: Boxes | null = null;
  private offsets: [number, number] = [0, 1];
  private pointed: number | null = null;
  private told: number | null = null;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    listenToGestures(this.drawing.canvas, {
      ...timeGestures(page, () => this.drawing.plot),
      selecting: () => undefined,
      click: (event) => {
        const cursor = timeAxis(page, this.drawing.plot).timeAt(event.offsetX);
        page.set({ row: this.drawing.boxAt(event.offsetX, event.offsetY), cursor });
      },
      hover: (event) => this.hover(event),
      panVertical: (pixels) => this.moveBy(pixels),
      zoomVertical: (factor, y) => this.zoomOffsets(factor, y),
    });
  }

  private showAll(): void {
    this.offsets = [0, Math.max(this.boxes?.extent ?? 1, 1)];
    this.page.schedule();
  }

  private moveBy(pixels: number): void {
    const [low, high] = this.offsets;
    const extent = Math.max(this.boxes?.extent ?? 1, 1);
    const shift = (pixels / this.drawing.plot.height) * (high - low);
    const kept = Math.min(Math.max(shift, -low), extent - high);
    this.offsets = [low + kept, high + kept];
    this.page.schedule();
  }

  private zoomOffsets(factor: number, y: number): void {
    const { plot } = this.drawing;
    const extent = Math.max(this.boxes?.extent ?? 1, 1);
    const [low, high] = this.offsets;
    const at = low + (1 - (y - plot.top) / plot.height) * (high - low);
    const span = Math.min(extent, Math.max(64, (high - low) * factor));
    const start = Math.min(Math.max(0, at - (at - low) * (span / (high - low))), extent - span);
    this.offsets = [start, start + span];
    this.page.schedule();
  }

  private hover(event: MouseEvent | null): void {
    const row = event ? this.drawing.boxAt(event.offsetX, event.offsetY) : null;
    if (row !== this.pointed) {
      this.pointed = row;
      this.page.schedule();
    }
    if (!event || row === null) return this.tooltip.hide();
    const { report } = this.page;
    const { rows, header } = report;
    const death = rows.death[row];
    const shape = header.strings[rows.shape[row]] || 'bytes';
    this.tooltip.show(event, report.rowName(row), [
      { label: shape, value: bytesText(rows.bytes[row]) },
      { label: 'line', value: report.siteName(rows.site[row]) },
      { label: 'lived', value: death === Infinity ? 'to the end' : timeText(death - rows.birth[row]) },
    ]);
  }

  /** How much of the addresses up to the highest one in use is in use. */
  private tellUse(boxes: Boxes): void {
    const { cursor } = this.page.state;
    if (this.told === cursor) return;
    this.told = cursor;
    let live = 0;
    let highest = 0;
    this.page.report.forEachLive(cursor, (row) => {
      if (boxes.low[row] < 0) return;
      live += boxes.high[row] - boxes.low[row];
      highest = Math.max(highest, boxes.high[row]);
    });
    const share = highest > 0 ? Math.round((100 * live) / highest) : 100;
    const { t_ns, fragmentation } = this.page.report.header.pool;
    const sample = lowerBound(t_ns, cursor + 1) - 1;
    const free = sample >= 0 ? `, ${Math.round(100 * fragmentation[sample])} % fragmented` : '';
    this.use.textContent = `at the cursor: ${share} % of ${bytesText(highest)} in use${free}`;
  }

  render(): void {
    const { page } = this;
    const { state, palette, report, grouping } = page;
    if (state.tab !== 'map') return;
    if (!this.boxes) {
      this.boxes = boxesOfRows(report);
      this.showAll();
    }
    const { boxes } = this;
    const colors = grouping.names.map((_, group) =>
      state.group === null || state.group === group
        ? page.groupColor(group)
        : mixed(palette.panel, page.groupColor(group), 0.25));
    const surface = this.drawing.draw(boxes, state.window, this.offsets, {
      colorOf: (row) => colors[grouping.groupOf[row]],
      labelOf: (row) => `${visible(report.rowName(row))}  ${visible(baseName(report.siteName(report.rows.site[row])))}`,
      key: `${state.groupBy} ${state.group}`,
    }, palette);
    if (!surface) return;
    const { context } = surface;
    const { plot } = this.drawing;
    const [t0, t1] = state.window;
    drawTimeAxis(context, plot, t0, t1, palette);
    if (this.pointed !== null) this.drawing.outline(context, boxes, this.pointed, palette.muted);
    if (state.row !== null && boxes.low[state.row] >= 0) {
      this.drawing.outline(context, boxes, state.row, palette.accent);
    }
    this.tellUse(boxes);
    const x = plot.left + ((state.cursor - t0) / (t1 - t0)) * plot.width;
    if (x >= plot.left && x <= plot.left + plot.width) {
      context.fillStyle = palette.accent;
      context.fillRect(Math.round(x), plot.top, 1, plot.height);
    }
    this.drawing.canvas.setAttribute('aria-label',
      `Memory map: ${bytesText(boxes.extent)} of addresses from ${timeText(t0)} to ${timeText(t1)}.`);
  }
}
