import { buildFlame, FLAME_METRICS, FLAME_PATHS, type FlameNode, type FlamePath } from '../data/flame.ts';
import { h, onHover, segmented, surfaceOf, visible } from '../ui/dom.ts';
import { mixed } from '../ui/colors.ts';
import type { Page, View } from '../ui/page.ts';
import type { Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText } from '../ui/units.ts';
import { FONT } from './axes.ts';

const ROW = 24;
const NARROWEST = 0.6; // pixels; what is narrower is not drawn

interface Box {
  node: FlameNode;
  x: number;
  y: number;
  width: number;
}

/** Bytes by calls or scope and line, from the whole at the top to single lines at the bottom. */
export class Flame implements View {
  private readonly canvas = h('canvas', { tabindex: 0, role: 'img', class: 'flame-canvas' });
  private readonly path = h('nav', { class: 'crumbs', 'aria-label': 'Chosen part of the flame graph' });
  private readonly metric;
  readonly controls: HTMLElement;
  readonly element = h('div', { class: 'flame' }, [this.path, h('div', { class: 'fill scroll' }, this.canvas)]);
  private root: FlameNode | null = null;
  private top: FlameNode | null = null; // what fills the width
  private boxes: Box[] = [];
  private built: unknown[] = [];
  private pointed: FlameNode | null = null;
  private along: FlamePath;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    this.metric = segmented('Bytes shown', FLAME_METRICS, {
      peak: 'at the peak', cursor: 'at the cursor', end: 'at the end',
      window: 'allocated in window',
    }, (metric) => page.set({ metric }));
    const paths = segmented('Path to a line', FLAME_PATHS, { calls: 'by calls', scope: 'by scope' }, (along) => {
      this.along = along;
      paths.show(along);
      page.schedule();
    });
    const hasCalls = page.report.rows.calls.some((calls) => calls > 0);
    this.along = hasCalls ? 'calls' : 'scope';
    paths.show(this.along);
    paths.element.hidden = !hasCalls;
    this.controls = h('div', { class: 'row' }, [this.metric.element, paths.element]);
    onHover(this.canvas, (event) => this.hover(event));
    this.canvas.addEventListener('click', (event) => this.choose(this.boxAt(event)?.node ?? null));
    this.canvas.addEventListener('keydown', (event) => {
      if (!this.press(event.key)) return;
      event.stopPropagation();
      event.preventDefault();
    });
  }

  private choose(node: FlameNode | null): void {
    if (!node) return;
    if (node.leaf) {
      this.page.set({ tab: 'tensors', only: node.leaf, filter: 'all', text: '' });
    } else {
      this.top = node;
      this.pointed = null;
      this.page.schedule();
    }
  }

  /** Arrows walk the tree, Enter chooses, Backspace and Escape go back up. */
  private press(key: string): boolean {
    const at = this.pointed ?? this.top;
    if (!at || !this.top) return false;
    if (key === 'Enter') {
      this.choose(at);
      return true;
    }
    if (key === 'Escape' || key === 'Backspace') {
      if (!this.top.parent) return false;
      this.choose(this.top.parent);
      return true;
    }
    const siblings = at.parent && at !== this.top ? at.parent.children : [at];
    const place = siblings.indexOf(at);
    const next = {
      ArrowDown: at.children[0],
      ArrowUp: at === this.top ? undefined : at.parent,
      ArrowLeft: siblings[place - 1],
      ArrowRight: siblings[place + 1],
    }[key];
    if (next === undefined) return key.startsWith('Arrow');
    this.pointed = next;
    this.page.schedule();
    return true;
  }

  private boxAt(event: MouseEvent): Box | undefined {
    return this.boxes.find(({ x, y, width }) =>
      event.offsetX >= x && event.offsetX < x + width && event.offsetY >= y && event.offsetY < y + ROW);
  }

  private hover(event: MouseEvent | null): void {
    const node = event ? (this.boxAt(event)?.node ?? null) : null;
    if (node !== this.pointed) {
      this.pointed = node;
      this.page.schedule();
    }
    if (!event || !node || !this.root) return this.tooltip.hide();
    const share = (100 * node.bytes) / Math.max(this.root.bytes, 1);
    this.tooltip.show(event, node.name, [
      { label: 'bytes', value: `${bytesText(node.bytes)}  (${share.toFixed(1)} %)` },
      { label: 'storages', value: countText(node.count) },
      { label: 'click', value: node.leaf ? 'lists them' : 'fills the width' },
    ]);
  }

  private rebuild(): void {
    const { page } = this;
    const { metric, cursor, window, groupBy } = page.state;
    const wanted = [metric, groupBy, this.along, metric === 'cursor' ? cursor : 0,
      metric === 'window' ? window[0] : 0, metric === 'window' ? window[1] : 0];
    if (this.root && wanted.every((value, i) => value === this.built[i])) return;
    this.built = wanted;
    const { birth, death } = page.report.rows;
    const liveAt = (t: number) => (row: number) => birth[row] <= t && death[row] > t;
    const wants = {
      peak: liveAt(page.peakTime),
      cursor: liveAt(cursor),
      end: (row: number) => death[row] === Infinity,
      window: (row: number) => birth[row] >= window[0] && birth[row] <= window[1],
    }[metric];
    this.pointed = null;
    const path = pathTo(this.top);
    this.root = buildFlame(page.report, page.grouping, wants, this.along);
    this.top = follow(this.root, path);
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== 'flame') return;
    this.metric.show(page.state.metric);
    this.rebuild();
    if (!this.root || !this.top) return;
    this.canvas.style.height = `${Math.max(ROW * (depthOf(this.top) + 1) + 8, 60)}px`;
    const surface = surfaceOf(this.canvas);
    if (!surface) return;
    const { context, width } = surface;
    this.boxes = [];
    context.font = FONT;
    if (this.root.bytes > 0) this.drawNode(context, this.top, width);
    else {
      context.fillStyle = page.palette.muted;
      context.fillText('Nothing was live at this moment.', 12, 24);
    }
    this.renderPath();
    const part = this.pointed ?? this.top.children[0];
    this.canvas.setAttribute('aria-label', visible(`Flame graph of ${bytesText(this.top.bytes)} in ` +
      `${countText(this.top.count)} storages by ${this.along} and line; ` +
      `${part ? `${part.name}: ${bytesText(part.bytes)}` : 'nothing in it'}. Arrow keys walk, Enter opens.`));
  }

  private drawNode(context: CanvasRenderingContext2D, node: FlameNode, width: number): void {
    const top = this.top ?? node;
    const scale = width / top.bytes;
    const x = (node.start - top.start) * scale;
    const boxWidth = node.bytes * scale;
    if (boxWidth < NARROWEST) return;
    const y = (node.depth - top.depth) * ROW;
    const { palette, state } = this.page;
    const isDimmed = state.group !== null && node.leaf !== null && node.group !== state.group;
    const plain = node.group >= 0 ? this.page.groupColor(node.group) : palette.inner;
    const color = isDimmed ? mixed(palette.panel, plain, 0.25) : plain;
    context.fillStyle = node === this.pointed ? mixed(color, palette.text, 0.18) : color;
    context.beginPath();
    context.roundRect(x, y, Math.max(boxWidth - 1, 0.6), ROW - 1, Math.min(3, boxWidth / 4));
    context.fill();
    this.boxes.push({ node, x, y, width: boxWidth });
    if (boxWidth > 34) this.drawLabel(context, node, x, y, boxWidth, isDimmed);
    for (const child of node.children) this.drawNode(context, child, width);
  }

  private drawLabel(
    context: CanvasRenderingContext2D,
    node: FlameNode,
    x: number,
    y: number,
    width: number,
    isDimmed: boolean,
  ): void {
    const { palette } = this.page;
    context.save();
    context.beginPath();
    context.rect(x, y, width - 6, ROW);
    context.clip();
    context.textBaseline = 'middle';
    context.textAlign = 'left';
    context.fillStyle = isDimmed ? palette.muted : node.group >= 0 ? '#14171a' : palette.text;
    const name = visible(node.name);
    context.fillText(name, x + 7, y + ROW / 2);
    const used = context.measureText(name).width;
    const size = bytesText(node.bytes);
    if (used + context.measureText(size).width + 30 < width) {
      context.globalAlpha = 0.7;
      context.fillText(size, x + used + 17, y + ROW / 2);
    }
    context.restore();
  }

  private renderPath(): void {
    const nodes: FlameNode[] = [];
    for (let node = this.top; node; node = node.parent) nodes.unshift(node);
    this.path.hidden = nodes.length < 2;
    this.path.replaceChildren(...nodes.map((node) =>
      h('button', { type: 'button', class: 'quiet' }, visible(node.name), {
        click: () => this.choose(node),
      })));
  }
}

function depthOf(node: FlameNode): number {
  return node.children.reduce((deepest, child) => Math.max(deepest, 1 + depthOf(child)), 0);
}

function pathTo(node: FlameNode | null): string[] {
  const names = [];
  for (let each = node; each?.parent; each = each.parent) names.unshift(each.name);
  return names;
}

/** As far along the names as the new tree goes. */
function follow(root: FlameNode, path: string[]): FlameNode {
  let node = root;
  for (const name of path) {
    const next = node.children.find((child) => child.name === name && !child.leaf);
    if (!next) break;
    node = next;
  }
  return node;
}
