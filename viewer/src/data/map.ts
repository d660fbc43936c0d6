import { orderBy } from './order.ts';
import type { PlanBuffer, Report } from './report.ts';

/** Boxes in time and offset, as packing diagrams are drawn; ascending by `left`. */
export interface Boxes {
  count: number;
  left: Float64Array;
  right: Float64Array; // Infinity: to the end
  low: Float64Array;
  high: Float64Array;
  extent: number; // of all offsets
}

/** Address space without the parts where no storage ever was. */
export function boxesOfRows(report: Report): Boxes {
  const { rows } = report;
  const order = orderBy(rows.address);
  const gap = usedBytes(report, order) / GAPS;
  const low = new Float64Array(rows.count).fill(-1);
  const high = new Float64Array(rows.count).fill(-1);
  let reached = -Infinity; // end of the addresses used so far
  let cut = 0; // what the gaps before took away
  for (const row of order) {
    const address = rows.address[row];
    if (address < 0 || rows.bytes[row] === 0) continue;
    if (reached === -Infinity) cut = address;
    else if (address - reached > gap) cut += address - reached - gap;
    low[row] = address - cut;
    high[row] = low[row] + rows.bytes[row];
    reached = Math.max(reached, address + rows.bytes[row]);
  }
  return {
    count: rows.count,
    left: rows.birth,
    right: rows.death,
    low,
    high,
    extent: reached === -Infinity ? 0 : reached - cut,
  };
}

/** Where a buffer begins and ends among a plan's positions. */
export function spanOf(buffer: PlanBuffer): [begin: number, end: number] {
  return [buffer.begin ?? buffer.first, buffer.end ?? buffer.last + 1];
}

/** A plan's buffers, which must be ascending by where they begin; time is the position. */
export function boxesOfPlan(buffers: PlanBuffer[], arena: number): Boxes {
  return {
    count: buffers.length,
    left: Float64Array.from(buffers, (buffer) => spanOf(buffer)[0]),
    right: Float64Array.from(buffers, (buffer) => spanOf(buffer)[1]),
    low: Float64Array.from(buffers, (buffer) => buffer.offset),
    high: Float64Array.from(buffers, (buffer) => buffer.offset + buffer.bytes),
    extent: arena,
  };
}

/** A gap stays up to this part of all that was ever used; what is larger shrinks to it. */
const GAPS = 64;

/** The length of all addresses that any storage ever had. */
function usedBytes(report: Report, order: Uint32Array): number {
  const { address, bytes } = report.rows;
  let used = 0;
  let reached = 0;
  for (const row of order) {
    if (address[row] < 0) continue;
    const end = address[row] + bytes[row];
    used += Math.max(0, end - Math.max(address[row], reached));
    reached = Math.max(reached, end);
  }
  return used;
}

/** What part of [t0, t1) and [low, high) a drawing of so many pixels shows. */
export interface MapWindow {
  t0: number;
  t1: number;
  low: number;
  high: number;
  width: number;
  height: number;
}

/**
 * Paints the boxes into pixels, later ones over earlier ones, and notes in `owner` which box a
 * pixel shows (its index + 1). Costs the number of boxes plus that of pixels, as boxes do not
 * overlap; that is why it paints pixels itself and does not ask the canvas for rectangles.
 */
export function paintBoxes(
  boxes: Boxes,
  view: MapWindow,
  colorOf: (box: number) => number, // 0xAABBGGRR
  edgeOf: (box: number) => number,
  pixels: Uint32Array,
  owner: Uint32Array,
): void {
  const { width, height } = view;
  const perTime = width / (view.t1 - view.t0);
  const perByte = height / (view.high - view.low);
  for (let box = 0; box < boxes.count; box++) {
    const { left, right, low, high } = boxes;
    if (left[box] >= view.t1) break; // ordered by birth
    if (right[box] <= view.t0 || low[box] < 0 || high[box] <= view.low || low[box] >= view.high) {
      continue;
    }
    const x0 = Math.max(0, Math.floor((left[box] - view.t0) * perTime));
    const x1 = Math.min(width, Math.max(x0 + 1, Math.floor((right[box] - view.t0) * perTime)));
    const y1 = Math.min(height, height - Math.floor((low[box] - view.low) * perByte));
    const y0 = Math.max(0, Math.min(y1 - 1, height - Math.floor((high[box] - view.low) * perByte)));
    const fill = colorOf(box);
    const isFramed = x1 - x0 > 3 && y1 - y0 > 3;
    for (let y = y0; y < y1; y++) {
      const start = y * width + x0;
      const end = y * width + x1;
      const isEdge = isFramed && (y === y0 || y === y1 - 1);
      pixels.fill(isEdge ? edgeOf(box) : fill, start, end);
      owner.fill(box + 1, start, end);
      if (isFramed) {
        pixels[start] = edgeOf(box);
        pixels[end - 1] = edgeOf(box);
      }
    }
  }
}
