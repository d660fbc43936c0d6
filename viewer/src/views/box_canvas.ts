import { type Boxes, type MapWindow, paintBoxes } from '../data/map.ts';
import { h, surfaceOf, type Surface } from '../ui/dom.ts';
import { mixed, type Palette, pixelOf, rgbOf } from '../ui/colors.ts';
import { drawByteAxis, FONT, type Plot, plotWithin } from './axes.ts';

const MARGIN = { left: 72, right: 12, top: 10, bottom: 24 };

export interface BoxStyle {
  colorOf: (box: number) => string;
  labelOf: (box: number) => string;
  /** Equal keys make equal pictures; then only what lies over it is drawn again. */
  key: string;
}

/** A packing diagram: boxes in time (to the right) and offset (upwards), as pixels. */
export class BoxCanvas {
  readonly canvas = h('canvas', { tabindex: 0, role: 'img', class: 'map-canvas' });
  plot: Plot = { left: 0, top: 0, width: 1, height: 1 };
  private readonly buffer = document.createElement('canvas');
  private owner = new Uint32Array(0);
  private painted = '';
  private ratio = 1;
  private view: MapWindow = { t0: 0, t1: 1, low: 0, high: 1, width: 1, height: 1 };

  /** Returns the surface for what is drawn over the boxes, or null if the canvas is not shown. */
  draw(
    boxes: Boxes,
    time: readonly [number, number],
    offsets: readonly [number, number],
    style: BoxStyle,
    palette: Palette,
  ): Surface | null {
    const surface = surfaceOf(this.canvas);
    if (!surface) return null;
    const { context, ratio } = surface;
    this.ratio = ratio;
    this.plot = plotWithin(surface, MARGIN);
    const { plot } = this;
    this.view = {
      t0: time[0],
      t1: time[1],
      low: offsets[0],
      high: Math.max(offsets[1], offsets[0] + 1),
      width: Math.max(1, Math.round(plot.width * ratio)),
      height: Math.max(1, Math.round(plot.height * ratio)),
    };
    drawByteAxis(context, plot, this.view.low, this.view.high, palette);
    const key = JSON.stringify([this.view, style.key, palette.isDark]);
    if (key !== this.painted) {
      this.painted = key;
      this.paint(boxes, style, palette);
    }
    context.drawImage(this.buffer, plot.left, plot.top, plot.width, plot.height);
    this.label(context, boxes, style);
    return surface;
  }

  private paint(boxes: Boxes, style: BoxStyle, palette: Palette): void {
    const { width, height } = this.view;
    this.buffer.width = width;
    this.buffer.height = height;
    const context = this.buffer.getContext('2d');
    if (!context) return;
    const image = context.createImageData(width, height);
    this.owner = new Uint32Array(width * height);
    const cache = new Map<string, readonly [number, number]>();
    const colors = (box: number) => {
      const color = style.colorOf(box);
      let pair = cache.get(color);
      if (!pair) {
        pair = [pixelOf(color), pixelOf(mixed(color, palette.panel, 0.45))];
        cache.set(color, pair);
      }
      return pair;
    };
    paintBoxes(boxes, this.view, (box) => colors(box)[0], (box) => colors(box)[1],
      new Uint32Array(image.data.buffer), this.owner);
    context.putImageData(image, 0, 0);
  }

  /** Names the boxes that have room for it. */
  private label(context: CanvasRenderingContext2D, boxes: Boxes, style: BoxStyle): void {
    context.font = FONT;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const seen = new Set<number>();
    for (let y = 6; y < this.plot.height; y += 12) {
      for (let x = 20; x < this.plot.width; x += 40) {
        const box = this.boxAt(this.plot.left + x, this.plot.top + y);
        if (box === null || seen.has(box)) continue;
        seen.add(box);
        const frame = this.frameOf(boxes, box);
        if (frame.width < 56 || frame.height < 14) continue;
        context.save();
        context.beginPath();
        context.rect(frame.left, frame.top, frame.width - 4, frame.height);
        context.clip();
        const [red, green, blue] = rgbOf(style.colorOf(box));
        context.fillStyle = red + green + blue > 330 ? '#14171a' : '#eef0f2';
        context.fillText(style.labelOf(box), frame.left + 5, frame.top + frame.height / 2);
        context.restore();
      }
    }
  }

  /** Which box is under a point, in CSS pixels. */
  boxAt(x: number, y: number): number | null {
    const column = Math.floor((x - this.plot.left) * this.ratio);
    const row = Math.floor((y - this.plot.top) * this.ratio);
    const { width, height } = this.view;
    if (column < 0 || row < 0 || column >= width || row >= height) return null;
    const owner = this.owner[row * width + column];
    return owner > 0 ? owner - 1 : null;
  }

  /** The part of a box that is shown. */
  frameOf(boxes: Boxes, box: number): Plot {
    const { plot, view } = this;
    const xOf = (t: number) => plot.left + ((t - view.t0) / (view.t1 - view.t0)) * plot.width;
    const yOf = (o: number) => plot.top + plot.height * (1 - (o - view.low) / (view.high - view.low));
    const left = Math.max(plot.left, xOf(boxes.left[box]));
    const right = Math.min(plot.left + plot.width, xOf(boxes.right[box]));
    const top = Math.max(plot.top, yOf(boxes.high[box]));
    const bottom = Math.min(plot.top + plot.height, yOf(boxes.low[box]));
    return { left, top, width: Math.max(1, right - left), height: Math.max(1, bottom - top) };
  }

  outline(context: CanvasRenderingContext2D, boxes: Boxes, box: number, color: string): void {
    const { left, top, width, height } = this.frameOf(boxes, box);
    context.strokeStyle = color;
    context.lineWidth = 2;
    context.strokeRect(left, top, width, height);
    context.lineWidth = 1;
  }
}
