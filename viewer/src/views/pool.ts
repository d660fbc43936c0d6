import { lowerBound, type PoolPart } from '../data/report.ts';
import { baseName, h, onHover, surfaceOf } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import type { Line, Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText } from '../ui/units.ts';
import { FONT } from './axes.ts';

const LEFT = 190;
const RIGHT = 16;
const BAR = 22;
const STEP = 34;

interface Chunk {
  row: number; // -1: a slab
  begin: number;
  end: number;
  part: PoolPart | null; // the slab
}

interface Segment {
  part: PoolPart;
  chunks: Chunk[]; // by address
  used: number;
  largestHole: number;
  small: number; // bytes of storages in slabs
}

/** The segments that the pool has at the cursor: how full each is, and of what. */
export class Pool implements View {
  private readonly canvas = h('canvas', { role: 'img', class: 'pool-canvas' });
  readonly controls = h('div', { class: 'row muted pool-text' });
  readonly element = h('div', { class: 'fill scroll' }, this.canvas);
  private segments: Segment[] = [];
  private shown = NaN;
  private longest = 1;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    onHover(this.canvas, (event) => (event ? this.hover(event) : this.tooltip.hide()));
    this.canvas.addEventListener('click', (event) => {
      const chunk = this.chunkAt(event.offsetX, event.offsetY)?.chunk;
      if (chunk && chunk.row >= 0) page.set({ row: chunk.row });
    });
  }

  /** What lies in each segment at a moment. */
  private look(t: number): void {
    const { report } = this.page;
    const { rows, header } = report;
    const isThere = ({ birth, death }: PoolPart) => birth <= t && (death < 0 || death > t);
    const byPlace = (a: PoolPart, b: PoolPart) => a.device - b.device || a.address - b.address;
    const slabs = (header.slabs ?? []).filter(isThere).sort(byPlace);
    this.segments = (header.segments ?? []).filter(isThere).sort(byPlace)
      .map((part) => ({ part, chunks: [], used: 0, largestHole: 0, small: 0 }));
    const segmentOf = (device: number, address: number) => this.segments.find(({ part }) =>
      part.device === device && address >= part.address && address < part.address + part.bytes);
    for (const part of slabs) {
      segmentOf(part.device, part.address)?.chunks.push({ row: -1, begin: part.address, end: part.address + part.bytes, part });
    }
    report.forEachLive(t, (row) => {
      const address = rows.address[row];
      if (address < 0) return;
      const device = rows.device[row];
      const segment = segmentOf(device, address);
      if (!segment) return;
      const isSmall = slabs.some((slab) => slab.device === device && address >= slab.address && address < slab.address + slab.bytes);
      if (isSmall) segment.small += rows.bytes[row];
      else segment.chunks.push({ row, begin: address, end: address + Math.ceil(rows.bytes[row] / segment.part.unit) * segment.part.unit, part: null });
    });
    for (const segment of this.segments) {
      segment.chunks.sort((a, b) => a.begin - b.begin);
      let at = segment.part.address;
      for (const { begin, end } of segment.chunks) {
        segment.largestHole = Math.max(segment.largestHole, begin - at);
        segment.used += Math.max(0, end - Math.max(begin, at));
        at = Math.max(at, end);
      }
      segment.largestHole = Math.max(segment.largestHole, segment.part.address + segment.part.bytes - at);
    }
    this.longest = this.segments.reduce((most, { part }) => Math.max(most, part.bytes), 1);
  }

  /** What others have of each device's memory at the cursor. */
  private outside(): string {
    const { header } = this.page.report;
    return (header.outside ?? []).map(({ device, total, t_ns, bytes }) => {
      const last = Math.max(lowerBound(t_ns, this.shown + 1) - 1, 0);
      return `; outside of it ${bytesText(bytes[last])} of the ${bytesText(total)} of ${header.devices?.[device] ?? 'it'}`;
    }).join('');
  }

  private chunkAt(x: number, y: number): { segment: Segment; chunk: Chunk | undefined } | null {
    const segment = this.segments[Math.floor(y / STEP)];
    if (!segment || x < LEFT) return null;
    const width = this.canvas.clientWidth - LEFT - RIGHT;
    const address = segment.part.address + ((x - LEFT) / width) * this.longest;
    if (address >= segment.part.address + segment.part.bytes) return null;
    return { segment, chunk: segment.chunks.find(({ begin, end }) => address >= begin && address < end) };
  }

  private hover(event: MouseEvent): void {
    const found = this.chunkAt(event.offsetX, event.offsetY);
    if (!found) return this.tooltip.hide();
    const { report } = this.page;
    const { segment, chunk } = found;
    const lines: Line[] = [
      { label: 'segment', value: bytesText(segment.part.bytes) },
      { label: 'full', value: `${Math.round((100 * segment.used) / segment.part.bytes)} %` },
      { label: 'largest hole', value: bytesText(segment.largestHole) },
    ];
    if (!chunk) return this.tooltip.show(event, 'free', lines);
    if (chunk.part) return this.tooltip.show(event, `slab of blocks of ${bytesText(chunk.part.unit)}`, lines);
    const site = baseName(report.siteName(report.rows.site[chunk.row]));
    this.tooltip.show(event, `${report.rowName(chunk.row)}  ${site}   ${bytesText(report.rows.bytes[chunk.row])}`, lines);
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== 'pool') return;
    if (page.state.cursor !== this.shown) {
      this.shown = page.state.cursor;
      this.look(this.shown);
    }
    const { segments } = this;
    const reserved = segments.reduce((sum, { part }) => sum + part.bytes, 0);
    const used = segments.reduce((sum, each) => sum + each.used, 0);
    const free = reserved - used;
    const largest = segments.reduce((most, each) => Math.max(most, each.largestHole), 0);
    this.controls.textContent = segments.length === 0
      ? 'The recording does not say what segments the pool has.'
      : `at the cursor: ${countText(segments.length)} segments, ${bytesText(reserved)} from the system, ${bytesText(free)} free, ` +
        `fragmentation ${free > 0 ? Math.round(100 * (1 - largest / free)) : 0} %${this.outside()}`;
    this.canvas.style.height = `${Math.max(segments.length * STEP, 40)}px`;
    const surface = surfaceOf(this.canvas);
    if (!surface) return;
    const { context, width } = surface;
    const { palette, grouping, state } = page;
    const perByte = (width - LEFT - RIGHT) / this.longest;
    context.font = FONT;
    context.textBaseline = 'middle';
    segments.forEach(({ part, chunks, used: full, small }, index) => {
      const y = index * STEP + 6;
      const xOf = (address: number) => LEFT + (address - part.address) * perByte;
      context.fillStyle = palette.text;
      context.textAlign = 'right';
      context.fillText(`${bytesText(part.bytes)}, ${Math.round((100 * full) / part.bytes)} % full`, LEFT - 12, y + BAR / 2);
      context.fillStyle = palette.line;
      context.fillRect(LEFT, y, part.bytes * perByte, BAR);
      for (const { row, begin, end, part: slab } of chunks) {
        context.fillStyle = slab ? palette.other : page.groupColor(grouping.groupOf[row]);
        const x = xOf(begin);
        context.fillRect(x, y, Math.max(xOf(end) - x - (xOf(end) - x > 3 ? 1 : 0), 0.5), BAR);
        if (row >= 0 && row === state.row) {
          context.strokeStyle = palette.accent;
          context.lineWidth = 2;
          context.strokeRect(x, y, Math.max(xOf(end) - x, 2), BAR);
          context.lineWidth = 1;
        }
      }
      context.fillStyle = palette.muted;
      context.textAlign = 'left';
      if (small > 0) context.fillText(`${bytesText(small)} in small blocks`, LEFT + part.bytes * perByte + 8 < width - 140 ? LEFT + part.bytes * perByte + 8 : LEFT + 4, y + BAR + 5);
    });
    this.canvas.setAttribute('aria-label', `${segments.length} segments of the pool at the cursor, ${bytesText(used)} of ${bytesText(reserved)} in use.`);
  }
}
