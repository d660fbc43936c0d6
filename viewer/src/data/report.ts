import { orderBy } from './order.ts';

export type Column = Float64Array | Uint32Array | Int32Array | Uint16Array | Uint8Array;

export interface Site {
  file: string;
  line: number;
}

export interface PlanBuffer {
  op: string;
  offset: number;
  bytes: number;
  first: number;
  last: number;
  site?: number;
  scope?: number;
  kind?: number; // a category
  again?: boolean; // an earlier step has computed the same
  layout?: string; // 'float32[8, 4]'
  begin?: number; // among the plan's positions
  end?: number;
  inside?: string; // the branch or the body of a loop that it is in
  at?: string; // and its steps there: '7.1 to 7.4'
  shown?: boolean; // false: the rows do not have it, as its step is fuller at another moment
}

/** One kernel call of a compiled program. */
export interface PlanStep {
  op: number;
  site: number;
  scope: number;
  kind: number;
  unit: number; // equal for steps that compute the same
  live: number;
  predicted_ns: number;
  measured_ns: number; // the mean; 0: never measured
  again: boolean;
}

/** A step of a branch or of the body of a loop. */
export interface InnerStep extends Omit<PlanStep, 'unit' | 'measured_ns'> {
  at: string; // '7.1', within step 7
  inside: string;
}

/** What a part of its peak would cost a program. */
export interface WhatIf {
  percent: number;
  budget: number;
  fits: boolean; // false: `peak` is the least that is known to suffice
  peak: number;
  added: number; // time, as a share
  again: { step: number; times: number; bytes: number; ns: number }[];
}

export interface Plan {
  name: string;
  predicted: number;
  measured: number;
  arena: number;
  runs: number;
  ns?: number; // the mean of its runs
  number?: number; // by which rows know it
  steps?: PlanStep[];
  what_if?: WhatIf[];
  buffers: PlanBuffer[];
  positions?: string[]; // what they are called, if steps of branches and loops are among them
  inner_steps?: InnerStep[]; // in the order of these
}

/** A line that `tenure leaks` found growing. */
export interface Growth {
  site: number;
  op: number;
  bytes_per_step: number;
  count_per_step: number;
  steps: number;
  loop?: string;
  marked?: boolean; // false: `steps` are parts of the time
  what?: string; // what piles up, if not tensors
  since_step?: number;
  since_ns?: number;
  bytes?: number; // in all since then
  number?: number;
  holders?: { kind: string; site: number; op: number; storages: number }[];
  callers?: string[];
}

export interface Budget {
  name: string;
  limit: number;
  number?: number; // how many there were that are alike
  begin_ns?: number;
  end_ns?: number; // -1: it holds at the end
  limits?: [since: number, limit: number][];
  peak?: number;
  refusals?: number;
  charged?: { t_ns: number[]; bytes: number[] }; // the most within each part of the time
}

/** An allocation that was not to be had. */
export interface Refusal {
  t: number;
  bytes: number;
  used: number;
  cause: string;
  budget: number; // from 1 up; 0: none
  op: number;
  site: number;
  holders: { op: number; site: number; bytes: number; storages: number }[];
}

/** A segment of the pool, or a slab of small blocks cut from one. */
export interface PoolPart {
  address: number;
  bytes: number;
  birth: number;
  death: number; // -1: it is there at the end
  device: number;
  unit: number;
}

/** What others than the program had of a device's memory. */
export interface Outside {
  device: number;
  total: number; // all the memory that it has
  t_ns: number[];
  bytes: number[];
}

export interface StepMark {
  t: number;
  name: string;
}

/** As in FORMAT.md. */
export interface Header {
  version: number;
  program: string;
  created: string;
  duration_ns: number;
  complete: boolean;
  begins_ns?: number;
  dropped: number;
  damaged: number;
  base_bytes: number;
  peak_ns?: number; // of all moments with the highest level, the one that tells most
  storages?: number;
  strings: string[];
  sites: Site[];
  scopes: string[];
  ops: string[];
  op_counts?: { reused: number[]; viewed: number[] };
  categories: string[];
  dtypes: string[];
  devices?: string[];
  threads: number;
  steps: StepMark[];
  growth: Growth[];
  judgement?: string[];
  moments?: number[];
  plans: Plan[];
  budgets: Budget[];
  refusals?: Refusal[];
  segments?: PoolPart[];
  slabs?: PoolPart[];
  outside?: Outside[];
  holder_kinds?: string[];
  time?: Record<'op' | 'site' | 'scope', { ns: number[]; calls: number[] }>; // as long as those lists
  misses?: Miss[];
  held?: Held[];
  evicted?: { times: number; recomputed: number; recomputed_bytes: number };
  pool: { t_ns: number[]; reserved: number[]; cached: number[]; fragmentation: number[] };
  columns: {
    name: string;
    type: 'u8' | 'u16' | 'u32' | 'i32' | 'f64';
    offset: number;
    length: number;
  }[];
}

/** A use that came after the disposal, and failed. */
export interface Miss {
  times: number;
  disposed_site: number;
  used_site: number;
  used_op: number;
}

/** A disposal while others held the data, which therefore stayed. */
export interface Held {
  times: number;
  site: number;
}

/** One row per storage, ascending by birth; `death` is Infinity for what lives at the end. */
export interface Rows {
  count: number;
  birth: Float64Array;
  death: Float64Array;
  bytes: Float64Array;
  address: Float64Array;
  idle: Float64Array; // from the last use to the death, or to the end of the recording
  tensors: Column;
  category: Column;
  op: Column;
  site: Column;
  scope: Column;
  device: Column;
  thread: Column;
  dtype: Column;
  shape: Column;
  holders: Column;
  name: Column;
  calls: Column; // strings: the calls that led there, one a line, the outermost first
  disposedSite: Column;
  plan: Column; // of a buffer in an arena: its plan's number; 0: it is a storage
  firstStep: Column; // of that plan
  lastStep: Column;
  inside: Column; // of one in a branch or a loop: a string
  again: Column; // 1: an earlier step has computed the same
}

/** Tensors as holders of what several share, by row and then birth. */
export interface Holders {
  count: number;
  row: Column;
  op: Column;
  site: Column;
  kind: Column;
  name: Column;
  birth: Float64Array;
  end: Float64Array; // Infinity: it holds at the end
}

/** Births and deaths in the order of time: event e is of row `of[e] >> 1`, a birth if odd. */
export interface Events {
  time: Float64Array;
  of: Uint32Array;
}

export class Report {
  readonly events: Events;
  /** The first moment and the last one: nothing is known before and after. */
  readonly begin: number;
  readonly end: number;
  /** When steps ended: all of them, and those of the loop that has most. Without marks, moments that stand for them. */
  readonly steps: number[];
  readonly loop: { name: string; times: number[]; isMarked: boolean };

  constructor(
    readonly header: Header,
    readonly rows: Rows,
    readonly holders: Holders,
  ) {
    this.events = mergeEvents(rows);
    const { time } = this.events;
    this.begin = header.begins_ns ?? 0;
    this.end = Math.max(header.duration_ns, time.length > 0 ? time[time.length - 1] : 0, this.begin + 1);
    this.steps = header.steps.map((step) => step.t);
    this.loop = header.moments && header.moments.length > 0
      ? { name: '', times: header.moments, isMarked: false }
      : { ...longestLoop(header.steps), isMarked: true };
  }

  /** The first of a row's holders, and the one after its last. */
  holdersOf(row: number): [number, number] {
    return [lowerBound(this.holders.row, row), lowerBound(this.holders.row, row + 1)];
  }

  siteName(site: number): string {
    const at = this.header.sites[site];
    return at?.file ? at.line > 0 ? `${at.file}:${at.line}` : at.file : 'unknown';
  }

  /** A variable's name, or the op that made it. */
  rowName(row: number): string {
    const { rows, header } = this;
    return header.strings[rows.name[row]] || header.ops[rows.op[row]] ||
      header.categories[rows.category[row]] || 'storage';
  }

  /** Calls `visit` for each row that is live at `t`. */
  forEachLive(t: number, visit: (row: number) => void): void {
    const { birth, death, count } = this.rows;
    for (let row = 0; row < count && birth[row] <= t; row++) {
      if (death[row] > t) visit(row);
    }
  }
}

function longestLoop(steps: StepMark[]): { name: string; times: number[] } {
  const loops = new Map<string, number[]>();
  for (const { t, name } of steps) {
    const times = loops.get(name);
    if (times) times.push(t);
    else loops.set(name, [t]);
  }
  let longest = { name: '', times: [] as number[] };
  for (const [name, times] of loops) {
    if (times.length > longest.times.length) longest = { name, times };
  }
  return longest;
}

/** At equal times what dies goes first, so that a buffer's successor does not count twice. */
function mergeEvents(rows: Rows): Events {
  const deaths = orderBy(rows.death);
  let dying = deaths.length;
  while (dying > 0 && rows.death[deaths[dying - 1]] === Infinity) dying--;

  const total = rows.count + dying;
  const time = new Float64Array(total);
  const of = new Uint32Array(total);
  let born = 0;
  let died = 0;
  for (let e = 0; e < total; e++) {
    const row = died < dying ? deaths[died] : -1;
    const dies =
      row >= 0 && row < born && (born === rows.count || rows.death[row] <= rows.birth[born]);
    if (dies) {
      time[e] = rows.death[row];
      of[e] = row * 2;
      died++;
    } else {
      time[e] = rows.birth[born];
      of[e] = born * 2 + 1;
      born++;
    }
  }
  return { time, of };
}

/** The first index whose value is not below `value`. */
export function lowerBound(sorted: ArrayLike<number>, value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
