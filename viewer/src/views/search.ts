import { type Found, Searcher } from '../data/search.ts';
import { h, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { bytesText } from '../ui/units.ts';

/** One field for names of all kinds, and the list of what it finds. */
export class Search implements View {
  private readonly field = h('input', {
    type: 'search', class: 'search-field', placeholder: 'search everything  s', 'aria-label': 'Search everything',
    spellcheck: 'false', role: 'combobox', 'aria-expanded': 'false', autocomplete: 'off',
  });
  private readonly list = h('div', { class: 'search-list', role: 'listbox', 'aria-label': 'Found', hidden: true });
  readonly element = h('div', { class: 'search' }, [this.field, this.list]);
  private readonly searcher: Searcher;
  private found: Found[] = [];
  private chosen = 0;

  constructor(private readonly page: Page) {
    this.searcher = new Searcher(page.report, page.peakTime);
    this.field.addEventListener('input', () => this.search());
    this.field.addEventListener('focus', () => this.search());
    this.field.addEventListener('blur', () => this.close());
    this.field.addEventListener('keydown', (event) => this.press(event));
  }

  focus(): void {
    this.field.focus();
    this.field.select();
  }

  render(): void {}

  private search(): void {
    this.found = this.searcher.find(this.field.value);
    this.chosen = 0;
    this.show();
  }

  private show(): void {
    const isOpen = this.field.value.trim() !== '';
    this.list.hidden = !isOpen;
    this.field.setAttribute('aria-expanded', String(isOpen));
    this.list.replaceChildren(...this.found.map((found, i) =>
      h('div', { class: 'search-row', role: 'option', 'aria-selected': String(i === this.chosen) }, [
        h('span', { class: 'muted' }, found.kind),
        h('span', { class: 'name', title: visible(found.name) }, h('bdi', {}, visible(found.name))),
        h('span', { class: 'number' }, found.bytes > 0 ? bytesText(found.bytes) : ''),
      ], {
        pointerdown: (event) => { // before the field loses the focus
          event.preventDefault();
          this.go(found);
        },
      })));
    if (isOpen && this.found.length === 0) {
      this.list.append(h('div', { class: 'search-row muted' }, 'Nothing has such a name.'));
    }
    this.list.children[this.chosen]?.scrollIntoView({ block: 'nearest' });
  }

  private press(event: KeyboardEvent): void {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move !== undefined) {
      this.chosen = Math.min(Math.max(0, this.chosen + move), Math.max(0, this.found.length - 1));
      event.preventDefault();
      this.show();
    } else if (event.key === 'Enter' && this.found.length > 0) {
      this.go(this.found[this.chosen]);
    }
  }

  private close(): void {
    this.list.hidden = true;
    this.field.setAttribute('aria-expanded', 'false');
  }

  private go({ kind, only, row, time, plan }: Found): void {
    const { page } = this;
    this.field.value = '';
    this.field.blur();
    if (only) page.set({ tab: 'tensors', only, filter: 'all', text: '' });
    else if (row !== undefined) {
      page.set({ row });
      page.lookAt(page.report.rows.birth[row]);
    } else if (time !== undefined) page.lookAt(time);
    else if (kind === 'plan') page.set({ tab: 'plans', plan: plan ?? 0 });
    else page.zoomTo(page.report.begin, page.report.end);
  }
}
