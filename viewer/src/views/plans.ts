import { type Boxes, boxesOfPlan, spanOf } from '../data/map.ts';
import { againAt, kindName, layerName } from '../data/program.ts';
import type { Plan, PlanBuffer } from '../data/report.ts';
import { h, onHover, segmented, visible } from '../ui/dom.ts';
import { type Page, PLAN_VIEWS, type PlanView, type View } from '../ui/page.ts';
import type { Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText } from '../ui/units.ts';
import { FONT } from './axes.ts';
import { BoxCanvas } from './box_canvas.ts';
import { SavedTable, StepTable, WhatIfPanel } from './plan_tables.ts';

const COLORINGS = ['kind', 'layer', 'op'] as const;
type Coloring = (typeof COLORINGS)[number];

/** Each plan with its predicted and its measured peak; of the chosen one the arena and its steps. */
export class Plans implements View {
  private readonly drawing = new BoxCanvas();
  private readonly list = h('div', { class: 'plan-list', role: 'listbox', 'aria-label': 'Plans' });
  private readonly views = segmented('What of the plan', PLAN_VIEWS, { saved: 'saved for backward' },
    (planView) => this.page.set({ planView }));
  private readonly coloring = segmented('Colour by', COLORINGS, {}, (by) => {
    this.colorBy = by;
    this.recolor();
    this.page.schedule();
  });
  private readonly said = h('span', { class: 'muted' }, 'Offsets in the arena over the steps of the program.');
  readonly controls = h('div', { class: 'row' }, [this.views.element, this.coloring.element, this.said]);
  private readonly saved: SavedTable;
  private readonly steps: StepTable;
  private readonly whatIf: WhatIfPanel;
  private readonly body = h('div', { class: 'fill' }, this.drawing.canvas);
  readonly element = h('div', { class: 'fill plans' }, [this.list, this.body]);
  private shown: PlanView = 'arena';
  private colorBy: Coloring = 'kind';
  private chosen = -1;
  private buffers: PlanBuffer[] = [];
  private boxes: Boxes | null = null;
  private colors = new Map<string, number>(); // by what the buffers are coloured by
  private pointed: number | null = null;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    this.saved = new SavedTable(page);
    this.steps = new StepTable(page);
    this.whatIf = new WhatIfPanel(page);
    const isTold = page.report.header.plans.some(({ steps }) => (steps ?? []).length > 0);
    if (!isTold) this.colorBy = 'op'; // of older recordings nothing else is known
    this.views.element.hidden = this.coloring.element.hidden = !isTold;
    onHover(this.drawing.canvas, (event) => this.hover(event));
  }

  private choose(index: number): void {
    this.chosen = index;
    const plan = this.page.report.header.plans[index];
    this.buffers = plan ? [...plan.buffers].sort((a, b) => spanOf(a)[0] - spanOf(b)[0]) : [];
    this.boxes = plan ? boxesOfPlan(this.buffers, plan.arena) : null;
    this.recolor();
    this.saved.set(plan);
    this.steps.set(plan);
    this.renderList();
  }

  private keyOf(buffer: PlanBuffer): string {
    const { report } = this.page;
    return this.colorBy === 'op' ? buffer.op
      : this.colorBy === 'kind' ? kindName(report, buffer.kind) : layerName(report, buffer.scope);
  }

  /** The timeline's, if that shows the same. */
  private colorOf(buffer: PlanBuffer): string {
    const { page } = this;
    const by = { kind: 'category', layer: 'scope', op: 'op' }[this.colorBy];
    const id = { kind: buffer.kind, layer: buffer.scope, op: undefined }[this.colorBy];
    if (page.state.groupBy === by && id !== undefined) return page.groupColor(page.grouping.groupOfId[id]);
    return page.palette.groups[this.colors.get(this.keyOf(buffer)) ?? 0];
  }

  private recolor(): void {
    const keys = [...new Set(this.buffers.map((buffer) => this.keyOf(buffer)))];
    this.colors = new Map(keys.map((key, i) => [key, i % this.page.palette.groups.length]));
  }

  private renderList(): void {
    const { plans } = this.page.report.header;
    const widest = plans.reduce((most, plan) => Math.max(most, plan.predicted, plan.measured), 1);
    this.list.replaceChildren(...plans.map((plan, index) =>
      h('button', {
        type: 'button', class: 'plan-row', role: 'option', 'aria-selected': String(index === this.chosen),
      }, [
        h('span', { class: 'name', title: visible(plan.name) }, visible(plan.name)),
        this.bar('predicted', plan.predicted, widest),
        this.bar('measured', plan.measured, widest),
        h('span', { class: isExact(plan) ? 'muted' : 'warning' }, verdict(plan)),
      ], { click: () => this.page.set({ plan: index }) })));
    if (plans.length === 0) {
      this.list.append(h('p', { class: 'muted' }, 'No plan was made while recording.'));
    }
  }

  private bar(label: string, bytes: number, widest: number): HTMLElement {
    const fill = h('b', { class: `plan-bar ${label}` });
    fill.style.width = `${(100 * bytes) / widest}%`;
    return h('span', { class: 'plan-figure' }, [
      h('span', { class: 'muted' }, label), h('span', { class: 'number' }, bytesText(bytes)),
      h('span', { class: 'plan-track' }, fill),
    ]);
  }

  private hover(event: MouseEvent | null): void {
    const index = event ? this.drawing.boxAt(event.offsetX, event.offsetY) : null;
    if (index !== this.pointed) {
      this.pointed = index;
      this.page.schedule();
    }
    if (!event || index === null) return this.tooltip.hide();
    const buffer = this.buffers[index];
    this.tooltip.show(event, buffer.op, [
      { label: 'bytes', value: bytesText(buffer.bytes) },
      { label: 'offset', value: bytesText(buffer.offset) },
      ...(buffer.layout ? [{ label: 'tensor', value: buffer.layout }] : []),
      { label: 'steps', value: buffer.at ?? `${buffer.first} to ${buffer.last}` },
      ...(buffer.inside ? [{ label: 'inside', value: buffer.inside }] : []),
      ...(buffer.kind === undefined ? [] : [
        { label: 'layer', value: layerName(this.page.report, buffer.scope) },
        { label: 'kind', value: kindName(this.page.report, buffer.kind) },
        { label: 'line', value: this.page.report.siteName(buffer.site ?? 0) },
      ]),
      ...(buffer.again ? [{ label: 'computed', value: 'again' }] : []),
    ]);
  }

  private labelOf(buffer: PlanBuffer): string {
    const layer = buffer.scope ? `  ${layerName(this.page.report, buffer.scope)}` : '';
    return `${buffer.again ? 'again: ' : ''}${buffer.op}${layer}`;
  }

  private showView(view: PlanView): void {
    const plan = this.page.report.header.plans[this.chosen];
    if (view !== this.shown) {
      this.shown = view;
      const { canvas } = this.drawing;
      this.body.replaceChildren({
        arena: canvas, saved: this.saved.element, steps: this.steps.element, 'what if': this.whatIf.element,
      }[view]);
      this.coloring.element.hidden = view !== 'arena';
      this.said.hidden = view !== 'arena';
    }
    if (view === 'saved') this.saved.show();
    else if (view === 'steps') this.steps.show();
    else if (view === 'what if') this.whatIf.show(plan);
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== 'plans') return;
    if (page.state.plan !== this.chosen) this.choose(page.state.plan);
    this.views.show(page.state.planView);
    this.coloring.show(this.colorBy);
    this.showView(page.state.planView);
    if (!this.boxes || this.shown !== 'arena') return;
    const plan = page.report.header.plans[this.chosen];
    const { palette } = page;
    const positions = this.buffers.reduce((most, buffer) => Math.max(most, spanOf(buffer)[1]), 1);
    const surface = this.drawing.draw(this.boxes, [0, positions], [0, plan.arena], {
      colorOf: (box) => this.colorOf(this.buffers[box]),
      labelOf: (box) => visible(this.labelOf(this.buffers[box])),
      key: `plan ${this.chosen} ${this.colorBy} ${page.state.groupBy}`,
    }, palette);
    if (!surface) return;
    const { context } = surface;
    const { plot } = this.drawing;
    context.font = FONT;
    context.fillStyle = palette.muted;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const every = Math.max(1, Math.ceil((positions * 40) / plot.width));
    for (let step = 0; step < positions; step += every) {
      context.fillText(plan.positions?.[step] ?? String(step), plot.left + ((step + 0.5) / positions) * plot.width, plot.top + plot.height + 7);
    }
    const marked = againAt(plan, page.state.budget);
    this.buffers.forEach((buffer, box) => {
      if (this.boxes && (buffer.again || marked.has(buffer))) this.drawing.outline(context, this.boxes, box, palette.text);
    });
    if (this.pointed !== null) this.drawing.outline(context, this.boxes, this.pointed, palette.accent);
    this.drawing.canvas.setAttribute('aria-label', visible(
      `Arena of ${plan.name}: ${bytesText(plan.arena)} with ${plan.buffers.length} buffers.`));
  }
}

function isExact(plan: Plan): boolean {
  return plan.runs === 0 || plan.measured === plan.predicted;
}

function verdict(plan: Plan): string {
  if (plan.runs === 0) return 'never ran';
  const runs = `${countText(plan.runs)} run${plan.runs === 1 ? '' : 's'}`;
  const difference = plan.measured - plan.predicted;
  if (difference === 0) return `as predicted in ${runs}`;
  return `${difference > 0 ? '+' : ''}${bytesText(difference)} against the plan in ${runs}`;
}
