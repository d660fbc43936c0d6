import { kindName, layerName, savedLayers } from '../data/program.ts';
import type { InnerStep, Plan } from '../data/report.ts';
import { h, visible } from '../ui/dom.ts';
import type { Page } from '../ui/page.ts';
import { copyButton } from '../ui/place.ts';
import { Table, type TableColumn } from '../ui/table.ts';
import { bytesText, countText, priceText, timeText } from '../ui/units.ts';

type Cell = string | number;

/** A table over rows of cells, which sorts by any of them. */
class SortedTable {
  readonly table: Table;
  private rows: Cell[][] = [];
  private sortKey: string;
  private isDescending: boolean;

  constructor(
    page: Page,
    label: string,
    private readonly columns: (TableColumn & { text?: (value: number) => string })[],
    sortedBy: string,
    isDescending: boolean,
    private readonly choose: (row: Cell[]) => void,
  ) {
    this.sortKey = sortedBy;
    this.isDescending = isDescending;
    this.table = new Table(label, columns, (key) => {
      this.isDescending = key === this.sortKey ? !this.isDescending : columns.some((c) => c.key === key && c.isNumber);
      this.sortKey = key;
      this.table.scrollToTop();
      page.schedule();
    });
  }

  set(rows: Cell[][]): void {
    this.rows = rows;
    this.table.scrollToTop();
  }

  show(): void {
    const at = this.columns.findIndex(({ key }) => key === this.sortKey);
    const sign = this.isDescending ? -1 : 1;
    const shown = [...this.rows].sort((a, b) => (a[at] < b[at] ? -sign : a[at] > b[at] ? sign : 0));
    this.table.show({
      count: shown.length,
      cell: (index, column) => {
        const value = shown[index][column];
        return typeof value === 'string' ? value : (this.columns[column].text ?? countText)(value);
      },
      colorOf: () => null,
      isChosen: () => false,
      choose: (index) => this.choose(shown[index]),
    }, this.sortKey, this.isDescending);
  }
}

/** What a program saves for its way back, by layer. Choosing a layer lists its tensors. */
export class SavedTable {
  private readonly sorted: SortedTable;
  readonly element: HTMLElement;

  constructor(private readonly page: Page) {
    this.sorted = new SortedTable(page, 'Saved for backward', [
      { key: 'layer', title: 'layer', width: 150, share: 3 },
      { key: 'bytes', title: 'bytes', width: 86, isNumber: true, text: bytesText },
      { key: 'share', title: 'share', width: 60, isNumber: true, text: (share) => `${Math.round(100 * share)} %` },
      { key: 'buffers', title: 'buffers', width: 70, isNumber: true },
      { key: 'ops', title: 'made by', width: 100, share: 2, spare: 1 },
    ], 'bytes', true, (row) => page.set({ tab: 'tensors', only: { scope: row[5] as number }, filter: 'all', text: '' }));
    this.element = this.sorted.table.element;
  }

  set(plan: Plan | undefined): void {
    const layers = plan ? savedLayers(this.page.report, plan) : [];
    const all = layers.reduce((sum, { bytes }) => sum + bytes, 0);
    this.sorted.set(layers.map(({ layer, bytes, buffers, ops, scope }) =>
      [layer, bytes, bytes / Math.max(all, 1), buffers, ops, scope]));
  }

  show(): void {
    this.sorted.show();
  }
}

/** A step as a row; -1: its time is not known. */
type Shown = InnerStep & { measured_ns: number };

/** Each kernel call of a program, predicted beside measured, and what branches and loops consist of. */
export class StepTable {
  private readonly sorted: SortedTable;
  readonly element: HTMLElement;
  private labels: string[] = [];

  constructor(private readonly page: Page) {
    this.sorted = new SortedTable(page, 'Steps', [
      { key: 'step', title: 'step', width: 48, isNumber: true, text: (row) => this.labels[row] },
      { key: 'op', title: 'op', width: 80, share: 2 },
      { key: 'layer', title: 'layer', width: 90, share: 2, spare: 1 },
      { key: 'kind', title: 'makes', width: 76, spare: 4 },
      { key: 'live', title: 'live', width: 78, isNumber: true, text: bytesText },
      { key: 'predicted', title: 'predicted', width: 78, isNumber: true, spare: 3, text: timeText },
      { key: 'measured', title: 'measured', width: 78, isNumber: true, spare: 2, text: (ns) => (ns < 0 ? '' : timeText(ns)) },
      { key: 'site', title: 'line', width: 96, share: 1, isPlace: true },
    ], 'step', false, (row) => {
      page.set({ tab: 'tensors', only: { op: row[8] as number, scope: row[9] as number }, filter: 'all', text: '' });
    });
    this.element = this.sorted.table.element;
  }

  set(plan: Plan | undefined): void {
    const { report } = this.page;
    const all = (plan?.steps ?? []).map((step, i) => [{ ...step, at: String(i), inside: '' }] as Shown[]);
    for (const step of plan?.inner_steps ?? []) all[parseInt(step.at, 10)]?.push({ ...step, measured_ns: -1 });
    const rows = all.flat();
    this.labels = rows.map(({ at }) => at);
    this.sorted.set(rows.map((step, i) => [
      i, `${step.again ? 'again: ' : ''}${report.header.ops[step.op]}${step.inside ? ` (${step.inside})` : ''}`,
      layerName(report, step.scope), kindName(report, step.kind), step.live, step.predicted_ns, step.measured_ns,
      report.siteName(step.site), step.op, step.scope,
    ]));
  }

  show(): void {
    this.sorted.show();
  }
}

/** What would be computed twice at a part of the peak, and at what price. */
export class WhatIfPanel {
  readonly element = h('div', { class: 'fill scroll endings what-if' });

  constructor(private readonly page: Page) {}

  show(plan: Plan | undefined): void {
    const { page } = this;
    const { report } = page;
    const answers = plan?.what_if ?? [];
    if (answers.length === 0) {
      this.element.replaceChildren(h('p', { class: 'muted' },
        'This page was made without it. Make it with tenure report --what-if, or ask tenure top --at 60%.'));
      return;
    }
    const chosen = page.state.budget ?? answers.findIndex(({ percent }) => percent === 60);
    const answer = answers[Math.max(0, Math.min(chosen, answers.length - 1))];
    const buttons = answers.map(({ percent, fits, added }, index) =>
      h('button', { type: 'button', 'aria-pressed': String(answers[index] === answer), class: fits ? '' : 'muted' },
        fits ? `${percent} %: ${priceText(added)}` : `${percent} %: too little`,
        { click: () => page.set({ budget: index }) }));
    const heads = ['bytes', 'price', 'again', 'layer', 'op', 'line'];
    const steps = plan?.steps ?? [];
    const rows = answer.again.map(({ step, times, bytes, ns }) => {
      const made = steps[step];
      return [bytesText(bytes), timeText(ns), times === 1 ? 'once' : `${times} times`,
        visible(layerName(report, made?.scope)), visible(report.header.ops[made?.op ?? 0] ?? ''),
        made && made.site > 0 ? copyButton(report.siteName(made.site)) : ''];
    });
    this.element.replaceChildren(
      h('h2', {}, 'If a run had only a part of its peak'),
      h('div', { class: 'segmented', role: 'group', 'aria-label': 'Part of the peak' }, buttons),
      h('p', {}, answer.fits
        ? `At ${answer.percent} % (${bytesText(answer.budget)}) a run takes ${bytesText(answer.peak)} and ` +
          `${priceText(answer.added)} time, as estimated.`
        : `${bytesText(answer.budget)} does not suffice: the least that is known to is ${bytesText(answer.peak)}, ` +
          `for ${priceText(answer.added)} time, as estimated.`),
      rows.length === 0
        ? h('p', { class: 'muted' }, 'Nothing is computed again: a better order is enough.')
        : h('table', {}, [
            h('tr', {}, heads.map((head, i) => h('th', { class: i < 2 ? 'right' : '' }, head))),
            ...rows.map((row) => h('tr', {}, row.map((cell, i) => h('td', { class: i < 2 ? 'number right' : '' }, cell)))),
          ]),
    );
  }
}
