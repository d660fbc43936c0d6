/** Where in a drawing the times and what the page does with them; x in CSS pixels. */
export interface TimeAxis {
  timeAt(x: number): number;
  spanOf(pixels: number): number;
}

export interface Gestures {
  axis: () => TimeAxis;
  zoom: (factor: number, around: number) => void;
  pan: (span: number) => void; // in time
  select: (t0: number, t1: number) => void;
  click: (event: MouseEvent) => void;
  hover: (event: MouseEvent | null) => void;
  /** Shift was held while dragging: the range so far, or null when it ended. */
  selecting: (range: readonly [number, number] | null) => void;
  /** Dragging up and down, where the drawing has a second axis. */
  panVertical?: (pixels: number) => void;
  zoomVertical?: (factor: number, y: number) => void;
}

const CLICK_SLOP = 4;

/** Wheel zooms, sideways wheel and drag move, shift-drag chooses a range, a click is a click. */
export function listenToGestures(canvas: HTMLCanvasElement, on: Gestures): void {
  canvas.addEventListener(
    'wheel',
    (event) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      const sideways = event.shiftKey && event.deltaX === 0 ? event.deltaY : event.deltaX;
      if (Math.abs(sideways) > Math.abs(event.deltaY) || event.shiftKey) {
        on.pan(on.axis().spanOf(sideways * lines));
      } else if (event.altKey && on.zoomVertical) {
        on.zoomVertical(Math.exp(event.deltaY * lines * 0.002), event.offsetY);
      } else {
        on.zoom(Math.exp(event.deltaY * lines * 0.002), on.axis().timeAt(event.offsetX));
      }
    },
    { passive: false },
  );

  let start: { x: number; y: number; isSelecting: boolean; hasMoved: boolean } | null = null;
  let last = { x: 0, y: 0 };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.button !== 0) return;
    canvas.setPointerCapture(event.pointerId);
    start = { x: event.offsetX, y: event.offsetY, isSelecting: event.shiftKey, hasMoved: false };
    last = { x: event.offsetX, y: event.offsetY };
  });
  canvas.addEventListener('pointermove', (event) => {
    if (!start) return on.hover(event);
    const distance = Math.hypot(event.offsetX - start.x, event.offsetY - start.y);
    if (!start.hasMoved && distance < CLICK_SLOP) return;
    start.hasMoved = true;
    on.hover(null);
    if (start.isSelecting) {
      on.selecting(rangeOf(on.axis(), start.x, event.offsetX));
    } else {
      on.pan(on.axis().spanOf(last.x - event.offsetX));
      on.panVertical?.(event.offsetY - last.y);
    }
    last = { x: event.offsetX, y: event.offsetY };
  });
  canvas.addEventListener('pointerup', (event) => {
    if (!start) return;
    if (!start.hasMoved) on.click(event);
    else if (start.isSelecting) on.select(...rangeOf(on.axis(), start.x, event.offsetX));
    on.selecting(null);
    start = null;
  });
  canvas.addEventListener('pointercancel', () => {
    start = null;
    on.selecting(null);
  });
  canvas.addEventListener('pointerleave', () => on.hover(null));
}

function rangeOf(axis: TimeAxis, a: number, b: number): [number, number] {
  return [axis.timeAt(Math.min(a, b)), axis.timeAt(Math.max(a, b))];
}
