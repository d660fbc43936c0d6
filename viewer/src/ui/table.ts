import { h, visible } from './dom.ts';
import { placeElement } from './place.ts';

const ROW = 28;
const HEAD = 30;
const SPARE = 8;
const COLUMN_GAP = 12; // as in the style
const SIDE_GAP = 16;
const TALLEST = 16_000_000; // pixels; browsers lose precision above

export interface TableColumn {
  key: string;
  title: string;
  width: number; // pixels, at least
  share?: number; // of what is left; 0: none
  isNumber?: boolean;
  isPlace?: boolean; // a line of source
  /** Where there is no room for all, the highest go first; those without stay. */
  spare?: number;
}

/** The columns that there is room for, by their numbers. */
export function fittingColumns(columns: readonly TableColumn[], room: number): number[] {
  const kept = columns.map((_, i) => i);
  const widthOf = () => kept.reduce((sum, i) => sum + columns[i].width + COLUMN_GAP, 2 * SIDE_GAP - COLUMN_GAP);
  while (widthOf() > room) {
    const spare = kept.reduce((most, i) => ((columns[i].spare ?? 0) > (columns[most].spare ?? 0) ? i : most), kept[0]);
    if ((columns[spare].spare ?? 0) === 0) break;
    kept.splice(kept.indexOf(spare), 1);
  }
  return kept;
}

export interface TableSource {
  count: number;
  cell(index: number, column: number): string;
  colorOf(index: number): string | null;
  isChosen(index: number): boolean;
  choose(index: number): void;
}

/** A table of any length: only the rows in sight are in the document. */
export class Table {
  private readonly heads: HTMLElement[];
  private readonly head = h('div', { class: 'table-head', role: 'row' });
  private readonly space = h('div', { class: 'table-space' });
  private readonly body: HTMLElement;
  readonly element: HTMLElement;
  private source: TableSource | null = null;
  private focused = 0;
  private fitting: number[] = [];

  constructor(
    label: string,
    private readonly columns: TableColumn[],
    sortBy: (key: string) => void,
  ) {
    this.heads = columns.map(({ key, title, isNumber }) =>
      h('div', { role: 'columnheader', class: isNumber ? 'right' : '' },
        h('button', { type: 'button', class: 'quiet' }, title, { click: () => sortBy(key) })));
    this.body = h('div', { class: 'table-body', tabindex: 0, role: 'rowgroup', 'aria-label': label }, [
      // Within what scrolls, so that the columns of head and rows are the same to the pixel.
      this.head,
      this.space,
    ], { scroll: () => this.draw(), keydown: (event) => this.onKey(event) });
    this.element = h('div', { class: 'table', role: 'grid', 'aria-label': label }, this.body);
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  /** Chooses the columns that fit. */
  private arrange(): void {
    const fitting = fittingColumns(this.columns, this.space.clientWidth);
    if (fitting.join() === this.fitting.join()) return;
    this.fitting = fitting;
    this.head.replaceChildren(...fitting.map((i) => this.heads[i]));
    this.element.style.setProperty('--columns', fitting
      .map((i) => this.columns[i])
      .map(({ width, share }) => (share ? `minmax(${width}px, ${share}fr)` : `${width}px`))
      .join(' '));
  }

  show(source: TableSource, sortedBy: string, isDescending: boolean): void {
    this.source = source;
    this.focused = Math.min(this.focused, Math.max(0, source.count - 1));
    this.columns.forEach(({ key }, i) => {
      const order = key !== sortedBy ? 'none' : isDescending ? 'descending' : 'ascending';
      this.heads[i].setAttribute('aria-sort', order);
    });
    this.element.setAttribute('aria-rowcount', String(source.count));
    this.head.classList.toggle('marked', source.count > 0 && source.colorOf(0) !== null);
    this.space.style.height = `${Math.min(source.count * ROW, TALLEST)}px`;
    this.draw();
  }

  scrollToTop(): void {
    this.body.scrollTop = 0;
    this.focused = 0;
  }

  private get inSight(): number {
    return Math.ceil((this.body.clientHeight - HEAD) / ROW);
  }

  /** Above TALLEST the scroll bar moves by more than it shows. */
  private firstInSight(): number {
    const { body, source } = this;
    const count = source?.count ?? 0;
    if (count * ROW <= TALLEST) return Math.floor(body.scrollTop / ROW);
    const range = TALLEST + HEAD - body.clientHeight;
    return Math.floor((body.scrollTop / range) * (count - this.inSight));
  }

  private draw(): void {
    const { source } = this;
    if (!source) return;
    this.arrange();
    const isExact = source.count * ROW <= TALLEST;
    const first = Math.max(0, this.firstInSight() - (isExact ? SPARE : 0));
    const last = Math.min(source.count, first + this.inSight + 2 * SPARE);
    const top = isExact ? first * ROW : this.body.scrollTop;
    const rows = [];
    for (let i = first; i < last; i++) rows.push(this.drawRow(source, i, top + (i - first) * ROW));
    if (source.count === 0) rows.push(h('div', { class: 'empty muted' }, 'Nothing matches.'));
    this.space.replaceChildren(...rows);
  }

  private drawRow(source: TableSource, index: number, top: number): HTMLElement {
    const cells = this.fitting.map((column) => {
      const { isNumber, isPlace } = this.columns[column];
      const text = visible(source.cell(index, column));
      const swatch = column === 0 ? source.colorOf(index) : null;
      const cell = h('div', { role: 'gridcell', class: isNumber ? 'number right' : isPlace ? 'of-place' : '', title: text });
      if (swatch) {
        const mark = h('i', { class: 'swatch' });
        mark.style.background = swatch;
        cell.append(mark);
      }
      cell.append(isPlace ? placeElement(text) : text);
      return cell;
    });
    const row = h('div', {
      role: 'row',
      class: `table-row${index === this.focused ? ' focused' : ''}`,
      'aria-rowindex': index + 1,
      'aria-selected': String(source.isChosen(index)),
    }, cells, {
      click: () => {
        this.focused = index;
        source.choose(index);
      },
    });
    row.style.transform = `translateY(${top}px)`;
    return row;
  }

  private onKey(event: KeyboardEvent): void {
    const { source } = this;
    if (!source || source.count === 0) return;
    const moves: Record<string, number> = {
      ArrowDown: 1, ArrowUp: -1, PageDown: this.inSight - 1, PageUp: 1 - this.inSight,
      Home: -source.count, End: source.count,
    };
    const move = moves[event.key];
    if (event.key === 'Enter') source.choose(this.focused);
    else if (move === undefined) return;
    else this.focused = Math.min(source.count - 1, Math.max(0, this.focused + move));
    event.preventDefault();
    event.stopPropagation();
    this.reveal();
    this.draw();
  }

  private reveal(): void {
    const { body, source } = this;
    const count = source?.count ?? 0;
    if (count * ROW > TALLEST) {
      const first = this.firstInSight();
      if (this.focused >= first && this.focused < first + this.inSight - 1) return;
      body.scrollTop = (this.focused / (count - this.inSight)) * (TALLEST + HEAD - body.clientHeight);
      return;
    }
    const top = this.focused * ROW;
    if (top < body.scrollTop) body.scrollTop = top;
    else if (top + ROW > body.scrollTop + body.clientHeight - HEAD) {
      body.scrollTop = top + ROW + HEAD - body.clientHeight;
    }
  }
}
