import type { FlameMetric } from '../data/flame.ts';
import { type GroupBy, Grouping } from '../data/grouping.ts';
import { Levels } from '../data/levels.ts';
import type { Report } from '../data/report.ts';
import type { RowFilter, Selection } from '../data/select.ts';
import { type StepLevels, stepLevels } from '../data/summary.ts';
import { type Palette, paletteOf } from './colors.ts';

export const TABS = ['flame', 'map', 'tensors', 'sites', 'ops', 'scopes', 'growth', 'plans', 'endings', 'limits', 'pool'] as const;
export type Tab = (typeof TABS)[number];
/** What is shown of a plan. */
export const PLAN_VIEWS = ['arena', 'saved', 'steps', 'what if'] as const;
export type PlanView = (typeof PLAN_VIEWS)[number];

/** What the reader has chosen; every view draws itself from this. */
export interface State {
  window: readonly [number, number];
  cursor: number;
  row: number | null; // the chosen storage
  group: number | null; // the group to bring out
  groupBy: GroupBy;
  tab: Tab;
  metric: FlameMetric;
  filter: RowFilter;
  text: string;
  only: Selection['only'];
  plan: number; // the chosen one
  planView: PlanView;
  budget: number | null; // which of the plan's what-ifs
  isDark: boolean;
}

/** A part of the page. `render` is called after a change of state, once a frame at most. */
export interface View {
  element: HTMLElement;
  render(): void;
}

/** The report, what was chosen, and what several views derive from both. */
export class Page {
  readonly peakTime: number;
  readonly peak: number;
  readonly stepLevels: StepLevels;
  state: State;
  palette: Palette;
  private readonly groupings = new Map<GroupBy, Grouping>();
  private readonly views: View[] = [];
  private isScheduled = false;

  constructor(
    readonly report: Report,
    isDark: boolean,
    private readonly beside: Page | null = null, // what has the same name has its colour
  ) {
    const total = new Levels(report, new Uint8Array(report.rows.count), 1);
    this.peak = total.peak;
    const told = report.header.peak_ns ?? -1; // within a run, when most of its arena is in use
    this.peakTime = told >= report.begin && total.at(told)[0] === total.peak ? told : total.peakTime;
    this.stepLevels = stepLevels(report);
    this.palette = paletteOf(isDark);
    this.state = {
      window: [report.begin, report.end],
      cursor: this.peakTime,
      row: null,
      group: null,
      groupBy: this.isMostlyOneCategory() ? 'op' : 'category',
      tab: 'flame',
      metric: 'peak',
      filter: 'all',
      text: '',
      only: null,
      plan: 0,
      planView: 'arena',
      budget: null,
      isDark,
    };
  }

  private isMostlyOneCategory(): boolean {
    const { rows, header } = this.report;
    const bytes = new Float64Array(header.categories.length);
    this.report.forEachLive(this.peakTime, (row) => (bytes[rows.category[row]] += rows.bytes[row]));
    return header.ops.length > 2 && bytes.some((each) => each > 0.95 * this.peak);
  }

  add(view: View): void {
    this.views.push(view);
  }

  set(change: Partial<State>): void {
    if (change.groupBy !== undefined && change.groupBy !== this.state.groupBy) {
      change = { group: null, ...change };
    }
    this.state = { ...this.state, ...change };
    if (this.palette.isDark !== this.state.isDark) this.palette = paletteOf(this.state.isDark);
    this.schedule();
  }

  schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    requestAnimationFrame(() => {
      this.isScheduled = false;
      for (const view of this.views) view.render();
      if (performance.getEntriesByName('interactive').length === 0) performance.mark('interactive');
    });
  }

  get grouping(): Grouping {
    const by = this.state.groupBy;
    let grouping = this.groupings.get(by);
    if (!grouping) {
      grouping = new Grouping(this.report, by, this.peakTime);
      this.groupings.set(by, grouping);
    }
    return grouping;
  }

  groupColor(group: number): string {
    const { grouping, palette } = this;
    if (grouping.isOther(group)) return palette.other;
    const beside = this.beside?.grouping;
    const same = beside?.names.indexOf(grouping.names[group]) ?? -1;
    const number = same >= 0 ? same : group + (beside?.size ?? 0);
    return palette.groups[number % palette.groups.length];
  }

  /** Shows [t0, t1], moved and shrunk so far that it lies within the recording. */
  zoomTo(t0: number, t1: number): void {
    const { begin, end } = this.report;
    const whole = end - begin;
    const span = Math.min(whole, Math.max(t1 - t0, Math.min(10, whole)));
    const middle = (t0 + t1) / 2;
    const start = Math.min(Math.max(begin, middle - span / 2), end - span);
    this.set({ window: [start, start + span] });
  }

  zoomBy(factor: number, around: number): void {
    const [t0, t1] = this.state.window;
    this.zoomTo(around - (around - t0) * factor, around + (t1 - around) * factor);
  }

  panBy(part: number): void {
    const [t0, t1] = this.state.window;
    const shift = (t1 - t0) * part;
    const { begin, end } = this.report;
    const kept = Math.min(Math.max(shift, begin - t0), end - t1);
    this.set({ window: [t0 + kept, t1 + kept] });
  }

  /** Sets the cursor, and moves the window if it would not show it. */
  lookAt(t: number): void {
    const moment = Math.min(Math.max(t, this.report.begin), this.report.end);
    const [t0, t1] = this.state.window;
    this.set({ cursor: moment });
    if (moment < t0 || moment > t1) {
      this.zoomTo(moment - (t1 - t0) / 2, moment + (t1 - t0) / 2);
    }
  }
}
