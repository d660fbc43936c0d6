import type { Gestures, TimeAxis } from '../ui/gestures.ts';
import type { Page } from '../ui/page.ts';
import type { Plot } from './axes.ts';

/** The page's window of time, drawn in a plot. */
export function timeAxis(page: Page, plot: Plot): TimeAxis {
  const [t0, t1] = page.state.window;
  const perPixel = (t1 - t0) / plot.width;
  return {
    timeAt: (x) => Math.min(t1, Math.max(t0, t0 + (x - plot.left) * perPixel)),
    spanOf: (pixels) => pixels * perPixel,
  };
}

/** What moves that window: the same over every drawing of it. */
export function timeGestures(page: Page, plot: () => Plot): Pick<Gestures, 'axis' | 'zoom' | 'pan' | 'select'> {
  return {
    axis: () => timeAxis(page, plot()),
    zoom: (factor, around) => page.zoomBy(factor, around),
    pan: (span) => page.panBy(span / (page.state.window[1] - page.state.window[0])),
    select: (t0, t1) => page.zoomTo(t0, t1),
  };
}
