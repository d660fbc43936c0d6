import { type Change, changesOf, COMPARED, type Compared } from '../data/difference.ts';
import { GROUPINGS } from '../data/grouping.ts';
import type { Report } from '../data/report.ts';
import { Overview } from '../views/overview.ts';
import { Timeline } from '../views/timeline.ts';
import { h, programName, segmented, visible } from './dom.ts';
import { Page, type View } from './page.ts';
import { Table, type TableColumn } from './table.ts';
import { Tooltip } from './tooltip.ts';
import { bytesText, countText, timeText } from './units.ts';

type Key = 'name' | 'change' | 'before' | 'after' | 'allocated' | 'count' | 'time';
const COLUMNS: (TableColumn & { key: Key })[] = [
  { key: 'name', title: 'name', width: 150, share: 1 },
  { key: 'change', title: 'change at the peak', width: 130, isNumber: true },
  { key: 'before', title: 'before', width: 86, isNumber: true },
  { key: 'after', title: 'after', width: 86, isNumber: true },
  { key: 'allocated', title: 'allocated', width: 100, isNumber: true, spare: 1 },
  { key: 'count', title: 'storages', width: 90, isNumber: true, spare: 2 },
  { key: 'time', title: 'time', width: 100, isNumber: true, spare: 3 },
];

/** Two recordings: their timelines side by side on one scale, and below what changed between them. */
export function showComparison(before: Report, after: Report, isDark: boolean): void {
  const tooltip = new Tooltip();
  const first = new Page(before, isDark);
  const pages = [first, new Page(after, isDark, first)] as const;
  const legend = new Legend(pages);
  const names = namesOf(pages);
  const scale = Math.max(pages[0].peak, pages[1].peak);
  const groups = segmented('Stack by', GROUPINGS, { site: 'line', dtype: 'type' }, (groupBy) => {
    for (const page of pages) page.set({ groupBy });
  });
  const theme = h('button', { type: 'button', class: 'icon', title: 'Dark or light (t)', 'aria-label': 'Dark or light' }, '\u263c', {
    click: () => { for (const page of pages) page.set({ isDark: !page.state.isDark }); },
  });
  const changes = new Changes(pages);
  const panes = pages.map((page, side) => {
    const timeline = new Timeline(page, tooltip, scale);
    const overview = new Overview(page);
    for (const view of [timeline, overview]) page.add(view);
    return h('section', { class: 'upper pane', 'aria-label': names[side] }, [
      h('h2', { class: 'row' }, [
        h('span', { class: 'muted' }, side === 0 ? 'before' : 'after'),
        h('span', { class: 'program', title: visible(names[side]) }, visible(names[side])),
        h('span', { class: 'muted created' }, visible(page.report.header.created.replace('T', ' ').replace('Z', ' UTC'))),
        h('a', { class: 'quiet', href: `#only=${side === 0 ? 'before' : 'after'}` }, 'open alone'),
      ]),
      timeline.element,
      overview.element,
    ]);
  });
  pages[0].set({ groupBy: pages[1].state.groupBy });
  document.title = `${visible(names[0])} against ${visible(names[1])} - Tenure`;
  document.body.replaceChildren(
    h('div', { class: 'page' }, [
      h('header', {}, h('div', { class: 'bar' }, [
        h('h1', {}, 'Tenure'), h('span', { class: 'muted' }, 'live bytes by'), groups.element, h('span', { class: 'spacer' }),
        h('div', { class: 'figures' }, figures(pages)), theme,
      ])),
      legend.element,
      h('div', { class: 'panes' }, panes),
      h('div', { class: 'lower' }, [changes.controls, changes.element]),
    ]),
    tooltip.element,
  );
  pages[1].add(legend);
  pages[1].add(changes);
  pages[1].add(tooltip);
  pages[1].add({
    element: groups.element,
    render: () => {
      document.documentElement.dataset['theme'] = pages[1].state.isDark ? 'dark' : 'light';
      groups.show(pages[1].state.groupBy);
    },
  });
  document.addEventListener('keydown', (event) => {
    if (event.target instanceof HTMLInputElement || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 't') theme.click();
    if (event.key === '0') for (const page of pages) page.zoomTo(page.report.begin, page.report.end);
  });
  const draw = () => { for (const page of pages) page.schedule(); };
  new ResizeObserver(draw).observe(document.body);
  draw();
}

function namesOf(pages: readonly [Page, Page]): [string, string] {
  const [a, b] = pages.map(({ report }) => programName(report.header.program));
  return [a, b];
}

/** The groups of both, with their colours. */
class Legend implements View {
  readonly element = h('div', { class: 'row pair-legend' });

  constructor(private readonly pages: readonly [Page, Page]) {}

  render(): void {
    const colors = new Map<string, string>();
    for (const page of this.pages) {
      page.grouping.names.forEach((name, group) => {
        if (!colors.has(name) && !page.grouping.isOther(group)) colors.set(name, page.groupColor(group));
      });
    }
    this.element.replaceChildren(...[...colors].map(([name, color]) => {
      const swatch = h('i', { class: 'swatch' });
      swatch.style.background = color;
      return h('span', { title: visible(name) }, [swatch, visible(name.slice(name.lastIndexOf('/') + 1))]);
    }));
  }
}

function figures(pages: readonly [Page, Page]): HTMLElement[] {
  const live = ({ report: { rows } }: Page) =>
    rows.bytes.reduce((sum, bytes, row) => sum + (rows.death[row] === Infinity ? bytes : 0), 0);
  const figure = (label: string, of: (page: Page) => number, text: (value: number) => string) => {
    const [a, b] = pages.map(of);
    return h('span', { class: 'figure', title: `${text(a)} before, ${text(b)} after` }, [
      h('span', { class: 'muted' }, label),
      h('span', { class: 'number' }, `${text(a)} \u2192 ${text(b)}`),
    ]);
  };
  return [
    figure('peak', (page) => page.peak, bytesText),
    figure('at the end', live, bytesText),
    figure('allocations', ({ report }) => report.rows.count, countText),
    figure('recorded', ({ report }) => report.end - report.begin, timeText),
  ];
}

class Changes implements View {
  private readonly by = segmented('Compare by', COMPARED, { site: 'line' }, (by) => {
    this.chosen = by;
    this.pages[1].schedule();
  });
  private readonly search = h('input', {
    type: 'search', placeholder: 'filter', 'aria-label': 'Filter what changed', spellcheck: 'false',
  }, [], { input: () => this.pages[1].schedule() });
  readonly controls = h('div', { class: 'row tabs' }, [h('span', { class: 'muted' }, 'what changed, by'), this.by.element, h('span', { class: 'spacer' }), this.search]);
  private readonly tables: Record<Compared, Table>;
  readonly element = h('div', { class: 'fill' });
  private readonly all = new Map<Compared, Change[]>();
  private chosen: Compared = 'site';
  private sortKey: Key = 'change';
  private isDescending = true;

  constructor(private readonly pages: readonly [Page, Page]) {
    const table = (by: Compared) => new Table('What changed',
      COLUMNS.map((column) => (column.key === 'name' && by === 'site' ? { ...column, title: 'line', isPlace: true } : column)),
      (key) => this.sortBy(key as Key));
    this.tables = { site: table('site'), op: table('op'), scope: table('scope'), category: table('category') };
  }

  private sortBy(key: Key): void {
    this.isDescending = key === this.sortKey ? !this.isDescending : key !== 'name';
    this.sortKey = key;
    this.pages[1].schedule();
  }

  render(): void {
    const { chosen, sortKey } = this;
    this.by.show(chosen);
    let all = this.all.get(chosen);
    if (!all) this.all.set(chosen, (all = changesOf(this.pages[0], this.pages[1], chosen)));
    const words = this.search.value.toLowerCase().split(/\s+/);
    const sign = this.isDescending ? -1 : 1;
    const shown = all
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .sort((a, b) => sign * compare(valueOf(a, sortKey), valueOf(b, sortKey)));
    if (this.element.firstChild !== this.tables[chosen].element) this.element.replaceChildren(this.tables[chosen].element);
    this.tables[chosen].show({
      count: shown.length,
      cell: (index, column) => textOf(shown[index], COLUMNS[column].key),
      colorOf: () => null,
      isChosen: () => false,
      choose: () => undefined,
    }, sortKey, this.isDescending);
  }
}

function compare(a: number | string, b: number | string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** What a column is sorted by: pairs by how much they changed. */
function valueOf(change: Change, key: Key): number | string {
  switch (key) {
    case 'name': return change.name;
    case 'change': return Math.abs(change.change);
    case 'before': return change.before;
    case 'after': return change.after;
    default: return Math.abs(change[key][1] - change[key][0]);
  }
}

function textOf(change: Change, key: Key): string {
  const signed = (value: number, text: (value: number) => string) => (value === 0 ? '' : `${value > 0 ? '+' : '\u2212'}${text(Math.abs(value))}`);
  switch (key) {
    case 'name': return change.name;
    case 'change': return signed(change.change, bytesText);
    case 'before':
    case 'after': return change[key] > 0 ? bytesText(change[key]) : '';
    case 'allocated': return signed(change.allocated[1] - change.allocated[0], bytesText);
    case 'count': return signed(change.count[1] - change.count[0], countText);
    case 'time': return signed(change.time[1] - change.time[0], timeText);
  }
}
