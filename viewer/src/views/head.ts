import type { Header } from '../data/report.ts';
import { h, programName, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { bytesText, countText, priceText, timeText } from '../ui/units.ts';

/** The part of its peak that a program is asked about on top. */
const ASKED = 60;

interface Figure {
  label: string;
  value: string;
  exactly?: string;
  isWarning?: boolean;
  isSpare?: boolean; // not where there is little room
  click?: () => void;
}

/** The bar on top: what was recorded, its main figures, and the switches. */
export class Head implements View {
  private readonly theme = h('button', { type: 'button', class: 'icon', title: 'Dark or light (t)' });
  readonly element: HTMLElement;

  constructor(
    private readonly page: Page,
    search: HTMLElement,
    showHelp: () => void,
  ) {
    const { header } = page.report;
    this.theme.addEventListener('click', () => page.set({ isDark: !page.state.isDark }));
    const help = h('button', { type: 'button', class: 'icon', title: 'Keys and help (?)', 'aria-label': 'Help' }, '?', {
      click: showHelp,
    });
    const notes = notesOf(header).map((note) => h('p', { class: 'note', role: 'alert' }, visible(note)));
    this.element = h('header', {}, [
      h('div', { class: 'bar' }, [
        h('h1', {}, 'Tenure'),
        h('span', { class: 'program', title: visible(header.program) }, visible(programName(header.program))),
        h('span', { class: 'muted created' }, visible(header.created.replace('T', ' ').replace('Z', ' UTC'))),
        h('span', { class: 'spacer' }),
        search,
        h('div', { class: 'figures' }, this.figures().map(drawFigure)),
        this.theme,
        help,
      ]),
      ...notes,
    ]);
  }

  private figures(): Figure[] {
    const { page } = this;
    const { report } = page;
    const { rows, header } = report;
    let liveBytes = 0;
    let live = 0;
    for (let row = 0; row < rows.count; row++) {
      if (rows.death[row] !== Infinity) continue;
      liveBytes += rows.bytes[row];
      live++;
    }
    const missed = (header.misses ?? []).reduce((sum, { times }) => sum + times, 0);
    const growth = header.growth.reduce((sum, { bytes_per_step, bytes = 0 }) =>
      sum + (report.loop.isMarked ? bytes_per_step : bytes), 0);
    return [
      { label: 'peak', value: bytesText(page.peak), exactly: `${countText(page.peak)} bytes`, click: () => page.lookAt(page.peakTime) },
      {
        label: 'at the end',
        value: bytesText(liveBytes),
        exactly: `${countText(liveBytes)} bytes`,
        click: () => page.set({ cursor: report.end, tab: 'tensors', filter: 'never disposed', only: null, text: '' }),
      },
      {
        label: 'never disposed',
        value: countText(live),
        click: () => page.set({ tab: 'tensors', filter: 'never disposed', only: null, text: '' }),
      },
      { label: 'allocations', value: countText(header.storages ?? rows.count), isSpare: true, click: () => page.set({ tab: 'sites' }) },
      ...(header.steps.length > 0 || report.loop.times.length > 0
        ? [{
            label: report.loop.isMarked ? 'per step' : 'over time',
            value: growth > 0 ? `+${bytesText(growth)}` : header.growth.length > 0 ? 'it grows' : 'steady',
            isWarning: header.growth.length > 0,
            click: () => page.set({ tab: 'growth' }),
          }]
        : []),
      ...this.lessMemory(),
      ...(missed > 0
        ? [{ label: 'too early', value: countText(missed), isWarning: true, click: () => page.set({ tab: 'endings' }) }]
        : []),
      ...((header.refusals ?? []).length > 0
        ? [{
            label: 'refused',
            value: countText(header.refusals!.length),
            isWarning: true,
            click: () => page.set({ tab: 'limits', cursor: header.refusals![0].t }),
          }]
        : []),
      { label: 'recorded', value: timeText(report.end - report.begin), isSpare: true, click: () => page.zoomTo(report.begin, report.end) },
    ];
  }

  /** What 60 % of its peak would cost the largest program: one click leads to what is computed twice. */
  private lessMemory(): Figure[] {
    const { plans } = this.page.report.header;
    const plan = plans.findIndex(({ what_if = [] }) => what_if.some(({ percent }) => percent === ASKED));
    const budget = plans[plan]?.what_if?.findIndex(({ percent }) => percent === ASKED) ?? -1;
    const answer = plans[plan]?.what_if?.[budget];
    if (!answer) return [];
    return [{
      label: `at ${ASKED} %`,
      value: answer.fits ? priceText(answer.added) : 'too little',
      exactly: `What ${visible(plans[plan].name)} would compute twice with ${bytesText(answer.budget)}, and at what price`,
      click: () => this.page.set({ tab: 'plans', plan, planView: 'what if', budget }),
    }];
  }

  render(): void {
    const { isDark } = this.page.state;
    document.documentElement.dataset['theme'] = isDark ? 'dark' : 'light';
    this.theme.textContent = isDark ? '\u263c' : '\u263e';
    this.theme.setAttribute('aria-label', isDark ? 'Use the light theme' : 'Use the dark theme');
  }
}

/** What the reader must know before trusting the figures. */
function notesOf({ complete, dropped, damaged, begins_ns = 0, evicted }: Header): string[] {
  const notes = [];
  if (!complete) notes.push('The program ended before its recording did: what it did last may be missing.');
  if (begins_ns > 0) notes.push(`Older events gave way to newer ones: what happened begins after ${timeText(begins_ns)}.`);
  if (dropped > 0) notes.push(`${countText(dropped)} events found no room.`);
  if (damaged > 0) notes.push(`${countText(damaged)} parts of the recording could not be read; figures may be too low.`);
  if (evicted && evicted.times > 0) {
    const { times, recomputed, recomputed_bytes } = evicted;
    notes.push(`Budgets gave up ${countText(times)} results; ${countText(recomputed)} were computed again, ${bytesText(recomputed_bytes)} together.`);
  }
  return notes;
}

function drawFigure({ label, value, exactly, isWarning, isSpare, click }: Figure): HTMLElement {
  const content = [h('span', { class: 'muted' }, label), h('span', { class: `number${isWarning ? ' warning' : ''}` }, value)];
  return h('button', { type: 'button', class: `figure${isSpare ? ' spare' : ''}`, title: exactly }, content, click ? { click } : {});
}
