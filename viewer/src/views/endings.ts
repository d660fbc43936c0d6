import { h, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { copyButton } from '../ui/place.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';

const MOST = 40;

interface Late {
  site: number;
  count: number;
  bytes: number;
  longest: number;
  idle: number; // bytes times nanoseconds
}

/** What was disposed too early, or while others held it, or long after its last use. */
export class Endings implements View {
  readonly controls = h('div', { class: 'row muted' });
  readonly element = h('div', { class: 'fill scroll endings' });
  private isDrawn = false;

  constructor(private readonly page: Page) {}

  render(): void {
    if (this.page.state.tab !== 'endings' || this.isDrawn) return;
    this.isDrawn = true;
    const { misses = [], held = [], ops } = this.page.report.header;
    const place = (site: number) => this.place(site);
    const late = this.late();
    this.element.replaceChildren(
      ...section('Disposed too early: used again, which failed', ['times', 'disposed at', 'wanted by'],
        misses.map(({ times, disposed_site, used_site, used_op }) =>
          [countText(times), place(disposed_site), h('span', {}, [visible(`${ops[used_op] ?? ''} `), place(used_site)])]),
        'Nothing was used after its disposal.'),
      ...section('Disposed while something else held the data', ['times', 'disposed at'],
        held.map(({ times, site }) => [countText(times), place(site)]),
        'Every disposal freed its data.'),
      ...section('Freed late: idle from the last use to the end', ['storages', 'bytes', 'longest idle', 'made at'],
        late.map(({ count, bytes, longest, site }) => [countText(count), bytesText(bytes), timeText(longest), place(site)]),
        'Nothing outlived its last use.'),
    );
  }

  private place(site: number): HTMLElement {
    return site > 0 ? copyButton(this.page.report.siteName(site)) : h('span', { class: 'muted' }, 'unknown');
  }

  private late(): Late[] {
    const { rows } = this.page.report;
    const bySite = new Map<number, Late>();
    for (let row = 0; row < rows.count; row++) {
      if (rows.idle[row] < 1000) continue;
      const site = rows.site[row];
      let late = bySite.get(site);
      if (!late) bySite.set(site, (late = { site, count: 0, bytes: 0, longest: 0, idle: 0 }));
      late.count++;
      late.bytes += rows.bytes[row];
      late.longest = Math.max(late.longest, rows.idle[row]);
      late.idle += rows.idle[row] * rows.bytes[row];
    }
    return [...bySite.values()].sort((a, b) => b.idle - a.idle).slice(0, MOST);
  }
}

function section(title: string, heads: string[], rows: (string | HTMLElement)[][], none: string): HTMLElement[] {
  if (rows.length === 0) return [h('h2', {}, title), h('p', { class: 'muted' }, none)];
  const isNumber = (i: number) => i < heads.length - 1 && typeof rows[0][i] === 'string';
  return [
    h('h2', {}, title),
    h('table', {}, [
      h('tr', {}, heads.map((head, i) => h('th', { class: isNumber(i) ? 'right' : '' }, head))),
      ...rows.map((row) => h('tr', {}, row.map((cell, i) => h('td', { class: isNumber(i) ? 'number right' : '' }, cell)))),
    ]),
  ];
}
