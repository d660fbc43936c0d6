import { FLAME_METRICS } from '../data/flame.ts';
import { GROUPINGS } from '../data/grouping.ts';
import type { Report } from '../data/report.ts';
import { ROW_FILTERS } from '../data/select.ts';
import { type Page, PLAN_VIEWS, type State, TABS } from './page.ts';

// What the reader looks at, as the part of the address after '#': a copied address, a reload and
// the browser's "back" show it again. Only what differs from how the page opens is in it.

const AFTER = 250; // ms without a change; a drag is one entry

/** The state as the text after '#'; empty: as the page opens. */
export function toAddress(state: State, initial: State): string {
  const parts = new URLSearchParams();
  const put = (key: string, value: string | number | null, isInitial: boolean) => {
    if (!isInitial && value !== null) parts.set(key, String(value));
  };
  put('tab', state.tab, state.tab === initial.tab);
  put('by', state.groupBy, state.groupBy === initial.groupBy);
  put('metric', state.metric, state.metric === initial.metric);
  put('from', state.window[0], state.window[0] === initial.window[0]);
  put('to', state.window[1], state.window[1] === initial.window[1]);
  put('at', state.cursor, state.cursor === initial.cursor);
  put('row', state.row, state.row === null);
  put('group', state.group, state.group === null);
  put('plan', state.plan, state.plan === 0);
  put('show', state.planView, state.planView === initial.planView);
  put('budget', state.budget, state.budget === null);
  put('filter', state.filter, state.filter === initial.filter);
  put('text', state.text, state.text === '');
  for (const [key, id] of Object.entries(state.only ?? {})) put(key, id, false);
  return parts.toString();
}

/** What an address says; what is none of this report is left out. */
export function fromAddress(text: string, report: Report, initial: State): Partial<State> {
  const parts = new URLSearchParams(text);
  const { rows, header } = report;
  const word = <T extends string>(key: string, words: readonly T[]) => words.find((each) => each === parts.get(key));
  const number = (key: string, low: number, high: number) => {
    const value = Number(parts.get(key) || NaN);
    return value >= low && value <= high ? value : undefined;
  };
  const index = (key: string, count: number) => {
    const value = number(key, 0, count - 1);
    return Number.isInteger(value) ? value : undefined;
  };
  const t0 = number('from', report.begin, report.end) ?? initial.window[0];
  const t1 = number('to', report.begin, report.end) ?? initial.window[1];
  const only: Record<string, number> = {};
  for (const [key, list] of [['site', header.sites], ['op', header.ops], ['scope', header.scopes]] as const) {
    const id = index(key, list.length);
    if (id !== undefined) only[key] = id;
  }
  return {
    tab: word('tab', TABS) ?? initial.tab,
    groupBy: word('by', GROUPINGS) ?? initial.groupBy,
    metric: word('metric', FLAME_METRICS) ?? initial.metric,
    window: t0 < t1 ? [t0, t1] : initial.window,
    cursor: number('at', report.begin, report.end) ?? initial.cursor,
    row: index('row', rows.count) ?? null,
    group: index('group', 256) ?? null,
    plan: index('plan', header.plans.length) ?? 0,
    planView: word('show', PLAN_VIEWS) ?? initial.planView,
    budget: index('budget', 100) ?? null,
    filter: word('filter', ROW_FILTERS) ?? initial.filter,
    text: parts.get('text') ?? '',
    only: Object.keys(only).length > 0 ? only : null,
  };
}

/** Keeps address and state the same; `fixed` stays in front. A page within another, as in a cell of a
 *  notebook, has no address of its own to write to. */
export function followAddress(page: Page, fixed: string): void {
  if (location.protocol === 'about:') return;
  const initial = page.state;
  const read = () => page.set(fromAddress(location.hash.slice(1), page.report, initial));
  let timer = 0;
  let written = location.hash.slice(1);
  if (written !== '') read();
  page.add({
    element: document.body,
    render: () => {
      window.clearTimeout(timer);
      timer = window.setTimeout(() => {
        const text = [fixed, toAddress(page.state, initial)].filter((part) => part !== '').join('&');
        if (text === written) return;
        written = text;
        history.replaceState(null, '', `#${text}`);
      }, AFTER);
    },
  });
  window.addEventListener('hashchange', () => {
    written = location.hash.slice(1);
    read();
  });
}
