import { orderRows, ROW_FILTERS, type RowKey, selectRows, type Selection } from '../data/select.ts';
import { baseName, h, segmented, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { Table, type TableColumn } from '../ui/table.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';

const COLUMNS: (TableColumn & { key: RowKey })[] = [
  { key: 'op', title: 'op', width: 84, share: 1.1 },
  { key: 'shape', title: 'shape', width: 100, share: 1.6, spare: 1 },
  { key: 'bytes', title: 'bytes', width: 72, isNumber: true },
  { key: 'birth', title: 'created', width: 72, isNumber: true, spare: 4 },
  { key: 'life', title: 'lived', width: 76, isNumber: true, spare: 2 },
  { key: 'idle', title: 'idle', width: 72, isNumber: true, spare: 3 },
  { key: 'category', title: 'category', width: 74, spare: 5 },
  { key: 'scope', title: 'scope', width: 70, share: 1.4, spare: 6 },
  { key: 'site', title: 'line', width: 110, share: 1.2, isPlace: true },
];
/** These are shown largest first until the reader wants it otherwise. */
const FALLING: ReadonlySet<string> = new Set(['bytes', 'life', 'idle']);

/** All storages, or those that a filter leaves. */
export class Tensors implements View {
  private readonly table = new Table('Tensors', COLUMNS, (key) => this.sortBy(key as RowKey));
  private readonly filter;
  private readonly search: HTMLInputElement;
  private readonly only = h('button', { type: 'button', class: 'chip', title: 'Remove this filter' });
  private readonly count = h('span', { class: 'muted number', role: 'status' });
  readonly controls: HTMLElement;
  readonly element = h('div', { class: 'fill' }, this.table.element);
  private sortKey: RowKey = 'bytes';
  private isDescending = true;
  private selected = '';
  private rows: Uint32Array = new Uint32Array(0);
  private ordered = '';

  constructor(private readonly page: Page) {
    this.filter = segmented('Which tensors', ROW_FILTERS, {}, (filter) => page.set({ filter }));
    this.search = h('input', {
      type: 'search', placeholder: 'filter  /', 'aria-label': 'Filter by text', spellcheck: 'false',
    }, [], { input: () => page.set({ text: this.search.value }) });
    this.only.addEventListener('click', () => page.set({ only: null }));
    this.controls = h('div', { class: 'row' }, [this.filter.element, this.search, this.only, this.count]);
  }

  focusSearch(): void {
    this.search.focus();
    this.search.select();
  }

  private sortBy(key: RowKey): void {
    this.isDescending = key === this.sortKey ? !this.isDescending : FALLING.has(key);
    this.sortKey = key;
    this.table.scrollToTop();
    this.page.schedule();
  }

  render(): void {
    const { page } = this;
    const { state, report } = page;
    if (state.tab !== 'tensors') return;
    this.filter.show(state.filter);
    if (this.search.value !== state.text) this.search.value = state.text;
    this.only.hidden = state.only === null;
    this.only.textContent = `${visible(this.onlyText())}  \u00d7`;
    this.update();
    const { rows, header, end } = report;
    const text = (row: number, column: number): string => {
      switch (COLUMNS[column].key) {
        case 'op': return report.rowName(row);
        case 'shape': return header.strings[rows.shape[row]] ?? '';
        case 'bytes': return bytesText(rows.bytes[row]);
        case 'birth': return timeText(rows.birth[row]);
        case 'life': return rows.death[row] === Infinity
          ? `${timeText(end - rows.birth[row])} \u2192` : timeText(rows.death[row] - rows.birth[row]);
        case 'idle': return rows.idle[row] > 0 ? timeText(rows.idle[row]) : '';
        case 'category': return header.categories[rows.category[row]] ?? '';
        case 'scope': return header.scopes[rows.scope[row]] ?? '';
        case 'site': return report.siteName(rows.site[row]);
      }
    };
    this.table.show({
      count: this.rows.length,
      cell: (index, column) => text(this.rows[index], column),
      colorOf: (index) => page.groupColor(page.grouping.groupOf[this.rows[index]]),
      isChosen: (index) => this.rows[index] === state.row,
      choose: (index) => page.set({ row: this.rows[index] }),
    }, this.sortKey, this.isDescending);
  }

  /** Selects and sorts anew where what was asked for has changed. */
  private update(): void {
    const { state, report } = this.page;
    const selection: Selection = {
      filter: state.filter,
      text: state.text,
      only: state.only,
      window: state.filter === 'in window' ? state.window : [0, 0],
      cursor: state.filter === 'at cursor' ? state.cursor : 0,
    };
    const key = JSON.stringify(selection);
    const order = `${this.sortKey} ${this.isDescending}`;
    if (key === this.selected && order === this.ordered) return;
    if (key !== this.selected) this.table.scrollToTop();
    this.selected = key;
    this.ordered = order;
    const found = selectRows(report, selection);
    this.rows = orderRows(report, found, this.sortKey, this.isDescending);
    const bytes = found.reduce((sum, row) => sum + report.rows.bytes[row], 0);
    this.count.textContent = `${countText(found.length)} of ${countText(report.rows.count)}, ${bytesText(bytes)}`;
  }

  private onlyText(): string {
    const { report, state } = this.page;
    const { site, op, scope } = state.only ?? {};
    const parts = [
      op !== undefined ? report.header.ops[op] : '',
      site !== undefined ? baseName(report.siteName(site)) : '',
      scope !== undefined ? report.header.scopes[scope] : '',
    ];
    return parts.filter((part) => part).join('  ');
  }
}
