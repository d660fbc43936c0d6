import { h } from './dom.ts';

const KEYS: readonly (readonly [string, string])[] = [
  ['\u2190 \u2192', 'move the window; with shift, the cursor'],
  ['+ \u2212', 'zoom in and out around the cursor'],
  ['0', 'show the whole recording'],
  ['p', 'go to the peak'],
  ['n N', 'next and previous step mark'],
  ['g G', 'stack by the next or previous kind of group'],
  ['1 \u2026 9', 'flame, map, tensors, lines, ops, scopes, growth, plans, endings'],
  ['s', 'search names of all kinds'],
  ['c', 'copy the line of the chosen tensor'],
  ['/', 'filter the table'],
  ['Enter', 'choose a row of a table or a part of the flame graph; arrows move'],
  ['Esc', 'let go of the chosen tensor, group and filter'],
  ['t', 'dark or light'],
  ['?', 'this help'],
];
const POINTER: readonly (readonly [string, string])[] = [
  ['wheel', 'zoom around the pointer; with shift, move'],
  ['alt wheel', 'zoom the addresses of the map'],
  ['drag', 'move'],
  ['shift drag', 'zoom to a range'],
  ['click', 'set the cursor and choose the tensor'],
  ['double click', 'show the whole recording'],
];

/** The overlay with all keys. */
export class Help {
  readonly element = h('dialog', { class: 'help', 'aria-label': 'Keys and help' }, [
    h('h2', {}, 'Keys'),
    table(KEYS),
    h('h2', {}, 'Pointer'),
    table(POINTER),
    h('p', { class: 'muted' },
      'A column of the timeline shows its highest moment: peaks are never lost, however far out you zoom.'),
    h('form', { method: 'dialog' }, h('button', { class: 'quiet' }, 'close')),
  ]);

  constructor() {
    this.element.addEventListener('click', (event) => {
      if (event.target === this.element) this.element.close();
    });
  }

  toggle(): void {
    if (this.element.open) this.element.close();
    else this.element.showModal();
  }
}

function table(rows: readonly (readonly [string, string])[]): HTMLElement {
  return h('dl', {}, rows.flatMap(([keys, what]) => [
    h('dt', {}, keys.split(' ').map((key) => h('kbd', {}, key))),
    h('dd', {}, what),
  ]));
}
