import { lowerBound, type Report } from './report.ts';

const CHUNK = 256;

/** For each column of a drawing: the levels of all groups at the moment of its highest total. */
export interface LevelColumns {
  width: number;
  groups: number;
  levels: Float64Array; // width * groups
  total: Float64Array;
  time: Float64Array; // that moment; the column's middle where nothing happens
}

/**
 * Live bytes by group over time, summarized per chunk of events, so that a drawing of any window
 * costs about its width and not its number of events. Peaks are exact: a column shows the levels of
 * its highest moment.
 */
export class Levels {
  readonly peak: number;
  readonly peakTime: number;
  private readonly before: Float64Array; // levels at the start of each chunk, and at the very end
  private readonly highest: Float64Array; // levels at the highest moment of each chunk
  private readonly highestTotal: Float64Array;
  private readonly highestTime: Float64Array;

  constructor(
    private readonly report: Report,
    private readonly groupOf: Uint8Array,
    readonly groups: number,
  ) {
    const { of, time } = report.events;
    const { bytes } = report.rows;
    const chunks = Math.ceil(of.length / CHUNK);
    this.before = new Float64Array((chunks + 1) * groups);
    this.highest = new Float64Array(chunks * groups);
    this.highestTotal = new Float64Array(chunks);
    this.highestTime = new Float64Array(chunks);

    const now = new Float64Array(groups);
    let total = 0;
    let peak = 0;
    let peakTime = 0;
    for (let chunk = 0; chunk < chunks; chunk++) {
      const first = chunk * CHUNK;
      const last = Math.min(first + CHUNK, of.length);
      let top = -1;
      let topAt = first;
      for (let e = first; e < last; e++) {
        const size = bytes[of[e] >>> 1];
        total += of[e] & 1 ? size : -size;
        if (total > top) {
          top = total;
          topAt = e;
        }
      }
      this.before.set(now, chunk * groups);
      for (let e = first; e < last; e++) {
        const row = of[e] >>> 1;
        now[groupOf[row]] += of[e] & 1 ? bytes[row] : -bytes[row];
        if (e === topAt) this.highest.set(now, chunk * groups);
      }
      this.highestTotal[chunk] = top;
      this.highestTime[chunk] = time[topAt];
      if (top > peak) {
        peak = top;
        peakTime = time[topAt];
      }
    }
    this.before.set(now, chunks * groups);
    this.peak = peak;
    this.peakTime = peakTime;
  }

  /** The levels after all events up to and including time `t`. */
  at(t: number): Float64Array {
    const end = lowerBoundAfter(this.report.events.time, t);
    return this.levelsBefore(end);
  }

  /** Splits [t0, t1) into `width` columns. */
  columns(t0: number, t1: number, width: number): LevelColumns {
    const { groups } = this;
    const { of, time } = this.report.events;
    const { bytes } = this.report.rows;
    const levels = new Float64Array(width * groups);
    const totals = new Float64Array(width);
    const times = new Float64Array(width);

    let e = lowerBound(time, t0);
    let now = this.levelsBefore(e);
    let total = sum(now);
    for (let column = 0; column < width; column++) {
      const from = t0 + ((t1 - t0) * column) / width;
      const until = t0 + ((t1 - t0) * (column + 1)) / width;
      const isQuiet = e === of.length || time[e] >= until;
      let best = total;
      let bestTime = isQuiet ? (from + until) / 2 : from;
      levels.set(now, column * groups);
      while (e < of.length && time[e] < until) {
        const chunk = e / CHUNK;
        if (e % CHUNK === 0 && e + CHUNK <= of.length && time[e + CHUNK - 1] < until) {
          if (this.highestTotal[chunk] > best) {
            best = this.highestTotal[chunk];
            bestTime = this.highestTime[chunk];
            levels.set(this.slice(this.highest, chunk), column * groups);
          }
          e += CHUNK;
          now = this.slice(this.before, chunk + 1).slice();
          total = sum(now);
          continue;
        }
        const row = of[e] >>> 1;
        const change = of[e] & 1 ? bytes[row] : -bytes[row];
        now[this.groupOf[row]] += change;
        total += change;
        if (total > best) {
          best = total;
          bestTime = time[e];
          levels.set(now, column * groups);
        }
        e++;
      }
      totals[column] = best;
      times[column] = bestTime;
    }
    return { width, groups, levels, total: totals, time: times };
  }

  private levelsBefore(event: number): Float64Array {
    const { of } = this.report.events;
    const { bytes } = this.report.rows;
    const chunk = Math.floor(event / CHUNK);
    const now = this.slice(this.before, chunk).slice();
    for (let e = chunk * CHUNK; e < event; e++) {
      const row = of[e] >>> 1;
      now[this.groupOf[row]] += of[e] & 1 ? bytes[row] : -bytes[row];
    }
    return now;
  }

  private slice(levels: Float64Array, chunk: number): Float64Array {
    return levels.subarray(chunk * this.groups, (chunk + 1) * this.groups);
  }
}

function sum(values: Float64Array): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

function lowerBoundAfter(sorted: Float64Array, value: number): number {
  let at = lowerBound(sorted, value);
  while (at < sorted.length && sorted[at] === value) at++;
  return at;
}
