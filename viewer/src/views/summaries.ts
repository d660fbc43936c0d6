import type { GroupBy } from '../data/grouping.ts';
import { type Summary, summarize } from '../data/summary.ts';
import { h } from '../ui/dom.ts';
import type { Page, Tab, View } from '../ui/page.ts';
import { Table, type TableColumn } from '../ui/table.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';

type Key = keyof Summary;
const COLUMNS: (TableColumn & { key: Key })[] = [
  { key: 'name', title: 'name', width: 150, share: 3 },
  { key: 'atPeak', title: 'at the peak', width: 86, isNumber: true },
  { key: 'bytes', title: 'allocated', width: 86, isNumber: true },
  { key: 'count', title: 'storages', width: 78, isNumber: true },
  { key: 'time', title: 'time', width: 78, isNumber: true },
  { key: 'calls', title: 'calls', width: 70, isNumber: true, spare: 3 },
  { key: 'meanLife', title: 'mean life', width: 78, isNumber: true, spare: 4 },
  { key: 'atEnd', title: 'at the end', width: 86, isNumber: true, spare: 1 },
  { key: 'liveAtEnd', title: 'never freed', width: 86, isNumber: true, spare: 2 },
];
const OF_OPS: (TableColumn & { key: Key })[] = [
  { key: 'reused', title: 'in place', width: 64, isNumber: true, spare: 5 },
  { key: 'viewed', title: 'views', width: 64, isNumber: true, spare: 6 },
];

/** A row for each site, op or scope; choosing one lists its tensors. */
export class Summaries implements View {
  private readonly columns;
  private readonly table: Table;
  private readonly search: HTMLInputElement;
  readonly controls: HTMLElement;
  readonly element: HTMLElement;
  private all: Summary[] | null = null;
  private sortKey: Key = 'atPeak';
  private isDescending = true;

  constructor(
    private readonly page: Page,
    private readonly tab: Tab,
    private readonly by: GroupBy & ('site' | 'op' | 'scope'),
    title: string,
  ) {
    const hasTime = page.report.header.time !== undefined;
    this.columns = [...COLUMNS, ...(by === 'op' && page.report.header.op_counts ? OF_OPS : [])]
      .filter(({ key }) => hasTime || (key !== 'time' && key !== 'calls'))
      .map((column) => (column.key === 'name' && by === 'site' ? { ...column, title: 'line', isPlace: true } : column));
    this.table = new Table(title, this.columns, (key) => {
      this.isDescending = key === this.sortKey ? !this.isDescending : key !== 'name';
      this.sortKey = key as Key;
      this.table.scrollToTop();
      page.schedule();
    });
    this.search = h('input', {
      type: 'search', placeholder: 'filter  /', 'aria-label': `Filter ${title.toLowerCase()}`, spellcheck: 'false',
    }, [], { input: () => page.schedule() });
    this.controls = h('div', { class: 'row' }, this.search);
    this.element = h('div', { class: 'fill' }, this.table.element);
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== this.tab) return;
    this.all ??= summarize(page.report, this.by, page.peakTime);
    const words = this.search.value.toLowerCase().split(/\s+/);
    const key = this.sortKey;
    const shown = this.all
      .filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
      .sort((a, b) => (this.isDescending ? -1 : 1) * compare(a[key], b[key]));
    this.table.show({
      count: shown.length,
      cell: (index, column) => text(shown[index], this.columns[column].key),
      colorOf: (index) =>
        page.state.groupBy !== this.by ? null
          : shown[index].count > 0 ? page.groupColor(page.grouping.groupOfId[shown[index].id]) : 'transparent',
      isChosen: (index) => page.state.only?.[this.by] === shown[index].id,
      choose: (index) => {
        page.set({ tab: 'tensors', only: { [this.by]: shown[index].id }, filter: 'all', text: '' });
      },
    }, this.sortKey, this.isDescending);
  }
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

function text(summary: Summary, key: Key): string {
  switch (key) {
    case 'name': return summary.name;
    case 'meanLife': return summary.count > 0 ? timeText(summary.meanLife) : '';
    case 'time': return summary.time > 0 ? timeText(summary.time) : '';
    case 'bytes':
    case 'atPeak':
    case 'atEnd': return summary[key] > 0 ? bytesText(summary[key]) : '';
    default: return summary[key] > 0 ? countText(summary[key]) : '';
  }
}
