import { h, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { copyButton, placeElement } from '../ui/place.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';

const LARGEST = 40;
const MOST_HOLDERS = 60;

/** The panel at the right: the moment under the cursor, and the chosen tensor. */
export class Side implements View {
  private readonly moment = h('section', { class: 'moment', 'aria-label': 'The chosen moment' });
  private readonly tensor = h('section', { class: 'tensor', 'aria-label': 'The chosen tensor' });
  private readonly total = h('div', { class: 'total number' });
  private readonly status = h('p', { class: 'unseen', role: 'status' });
  readonly element = h('aside', { class: 'side' }, [this.moment, this.tensor, this.status]);
  private shown: unknown[] = [];

  constructor(private readonly page: Page) {}

  render(): void {
    const { cursor, row, group, groupBy, isDark } = this.page.state;
    const wanted = [cursor, row, group, groupBy, isDark];
    if (wanted.every((value, i) => value === this.shown[i]) && this.shown.length > 0) return;
    this.shown = wanted;
    this.renderMoment();
    this.status.textContent = row === null
      ? `${timeText(cursor)}: ${this.total.textContent ?? ''}`
      : visible(`${this.page.report.rowName(row)}, ${bytesText(this.page.report.rows.bytes[row])}`);
    this.tensor.replaceChildren(...(row === null ? this.largest() : this.details(row)));
  }

  private renderMoment(): void {
    const { page } = this;
    const { cursor, group: chosen } = page.state;
    const levels = page.grouping.levels.at(cursor);
    const total = levels.reduce((sum, level) => sum + level, 0);
    const isPeak = cursor === page.peakTime;
    const byBytes = [...page.grouping.names.keys()].sort((a, b) => levels[b] - levels[a] || a - b);
    const rows = byBytes.map((group) => {
      const name = page.grouping.names[group];
      const swatch = h('i', { class: 'swatch' });
      swatch.style.background = page.groupColor(group);
      const bar = h('b', { class: 'bar' });
      bar.style.width = `${total > 0 ? (100 * levels[group]) / total : 0}%`;
      bar.style.background = page.groupColor(group);
      return h(
        'button',
        {
          type: 'button',
          class: 'legend-row',
          'aria-pressed': String(chosen === group),
          title: visible(name),
        },
        [swatch, h('span', { class: 'name' }, visible(shortName(name))),
          h('span', { class: 'number' }, bytesText(levels[group])), bar],
        { click: () => page.set({ group: chosen === group ? null : group }) },
      );
    });
    this.total.textContent = `${bytesText(total)} live`;
    this.moment.replaceChildren(
      h('h2', {}, [
        isPeak ? 'At the peak' : 'At the cursor',
        h('span', { class: 'number muted' }, timeText(cursor)),
      ]),
      this.total,
      h('div', { class: 'legend' }, rows),
    );
  }

  /** What is live at the cursor, largest first. */
  private largest(): Node[] {
    const { page } = this;
    const { rows } = page.report;
    const { group } = page.state;
    const { groupOf } = page.grouping;
    const top: number[] = [];
    let count = 0;
    page.report.forEachLive(page.state.cursor, (row) => {
      if (group !== null && groupOf[row] !== group) return;
      count++;
      if (top.length === LARGEST && rows.bytes[row] <= rows.bytes[top[LARGEST - 1]]) return;
      let at = top.length;
      while (at > 0 && rows.bytes[top[at - 1]] < rows.bytes[row]) at--;
      top.splice(at, 0, row);
      if (top.length > LARGEST) top.pop();
    });
    const items = top.map((row) => {
      const swatch = h('i', { class: 'swatch' });
      swatch.style.background = page.groupColor(groupOf[row]);
      return h('button', { type: 'button', class: 'tensor-row' }, [
        swatch,
        h('span', { class: 'name' }, visible(page.report.rowName(row))),
        rows.site[row] > 0 ? withClass(placeElement(page.report.siteName(rows.site[row])), 'muted') : null,
        h('span', { class: 'number' }, bytesText(rows.bytes[row])),
      ], { click: () => page.set({ row }) });
    });
    return [
      h('h2', {}, ['Largest', h('span', { class: 'number muted' }, `${countText(count)} live`)]),
      h('div', { class: 'largest' }, items),
    ];
  }

  /** Who shares the storage, and from when to when; a click lists all that the line holds. */
  private holders(first: number, end: number): Node[] {
    const { page } = this;
    const { header, holders } = page.report;
    const siteName = (site: number) => page.report.siteName(site);
    if (first === end) return [];
    const items: Node[] = [];
    for (let i = first; i < Math.min(end, first + MOST_HOLDERS); i++) {
      const site = holders.site[i];
      const op = holders.op[i];
      const until = holders.end[i] === Infinity ? 'holds it at the end' : `until ${timeText(holders.end[i])}`;
      const name = header.strings[holders.name[i]] || header.ops[op] || 'unknown';
      items.push(h('button', {
        type: 'button', class: `holder-row${holders.end[i] === Infinity ? ' is-live' : ''}`,
        title: visible(`all that ${header.ops[op] ?? ''} at ${siteName(site)} holds`),
      }, [
        h('span', { class: 'muted' }, header.holder_kinds?.[holders.kind[i]] ?? ''),
        h('span', { class: 'name' }, visible(name)),
        site > 0 ? placeElement(siteName(site)) : null,
        h('span', { class: 'muted number' }, `from ${timeText(holders.birth[i])}, ${until}`),
      ], { click: () => page.set({ tab: 'tensors', only: { site, op }, filter: 'all', text: '' }) }));
    }
    if (end - first > MOST_HOLDERS) items.push(h('p', { class: 'muted' }, `and ${countText(end - first - MOST_HOLDERS)} more`));
    return [
      h('h2', {}, ['Held by', h('span', { class: 'number muted' }, `${countText(end - first)} tensors`)]),
      h('div', { class: 'holder-list' }, items),
    ];
  }

  private programOf(row: number): string {
    const { plans } = this.page.report.header;
    return plans.find(({ number }) => number === this.page.report.rows.plan[row])?.name ?? 'a compiled program';
  }

  private details(row: number): Node[] {
    const { page } = this;
    const { report } = page;
    const { rows, header } = report;
    const text = (id: number) => header.strings[id] ?? '';
    const death = rows.death[row];
    const life = Math.min(death, report.end) - rows.birth[row];
    const disposed = rows.disposedSite[row];
    const idle = rows.idle[row];
    const op = header.ops[rows.op[row]] ?? '';
    const [first, end] = report.holdersOf(row);
    const facts: [name: string, value: string, site?: number][] = [
      ['bytes', `${bytesText(rows.bytes[row])}  (${countText(rows.bytes[row])})`],
      ['category', header.categories[rows.category[row]] ?? ''],
      ['scope', header.scopes[rows.scope[row]] ?? ''],
      ['called by', text(rows.calls[row]).split('\n').reverse().join('\n')],
      ['device', (header.devices?.length ?? 1) > 1 ? header.devices![rows.device[row]] : ''],
      ['thread', String(rows.thread[row])],
      ['created', `${timeText(rows.birth[row])} by ${op}`, rows.site[row]],
      ['program', rows.plan[row] > 0 ? `${this.programOf(row)}, steps ${text(rows.inside[row]) || `${rows.firstStep[row]} to ${rows.lastStep[row]}`}` : ''],
      ['computed', rows.again[row] === 1 ? 'again: an earlier step has made the same, and gave it up' : ''],
      rows.plan[row] > 0
        ? ['in use', `for ${timeText(life)}, in the arena`]
        : death === Infinity
        ? ['disposed', 'never: live at the end']
        : disposed >= 0
          ? ['disposed', `${timeText(death)}, after ${timeText(life)}`, disposed]
          : ['freed', `${timeText(death)}, after ${timeText(life)}: its last handle went`],
      ['last used', idle > 0 ? `${timeText(life - idle)} after its creation; then idle for ${timeText(idle)}` : 'until its end'],
      ['tensors', rows.tensors[row] > 1 ? `${countText(rows.tensors[row])} shared it` : ''],
      ['holders', first < end ? '' : text(rows.holders[row])],
      ['address', rows.address[row] >= 0 ? `+0x${rows.address[row].toString(16)}` : ''],
    ];
    const list = h('dl', {}, facts.filter(([, value]) => value !== '').flatMap(([name, value, site]) => [
      h('dt', {}, name),
      h('dd', {}, [
        ...value.split('\n').map((line) => h('div', {}, visible(line))),
        site !== undefined && site > 0 ? copyButton(report.siteName(site)) : null,
      ]),
    ]));
    const button = (label: string, click: () => void) =>
      h('button', { type: 'button', class: 'quiet' }, label, { click });
    return [
      h('h2', {}, [
        visible(report.rowName(row)),
        h('button', { type: 'button', class: 'quiet', 'aria-label': 'Back to the list' }, 'list', {
          click: () => page.set({ row: null }),
        }),
      ]),
      h('div', { class: 'shape number' },
        visible(text(rows.shape[row]))),
      list,
      ...this.holders(first, end),
      h('div', { class: 'actions' }, [
        button('zoom to its life', () => {
          page.zoomTo(rows.birth[row] - life * 0.1, rows.birth[row] + life * 1.1);
        }),
        button('all of this line', () => {
          page.set({ tab: 'tensors', only: { site: rows.site[row] }, filter: 'all', text: '' });
        }),
        button('on the map', () => page.set({ tab: 'map' })),
      ]),
    ];
  }
}

function withClass(element: HTMLElement, name: string): HTMLElement {
  element.classList.add(name);
  return element;
}

/** Sites lose their folders, scopes all but the last two parts. */
function shortName(name: string): string {
  const parts = name.split('/');
  return parts.length <= 2 ? name : `\u2026/${parts.slice(-2).join('/')}`;
}
