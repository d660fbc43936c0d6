import { type Boxes, boxesOfPlan } from '../data/map.ts';
import type { Plan, PlanBuffer } from '../data/report.ts';
import { h, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import type { Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText } from '../ui/units.ts';
import { FONT } from './axes.ts';
import { BoxCanvas } from './box_canvas.ts';

/** Each plan with its predicted and its measured peak, and the arena of the chosen one. */
export class Plans implements View {
  private readonly drawing = new BoxCanvas();
  private readonly list = h('div', { class: 'plan-list', role: 'listbox', 'aria-label': 'Plans' });
  readonly controls = h('div', { class: 'row muted' }, 'Offsets in the arena over the positions of the program.');
  readonly element = h('div', { class: 'fill plans' }, [this.list, h('div', { class: 'fill' }, this.drawing.canvas)]);
  private chosen = -1;
  private buffers: PlanBuffer[] = [];
  private boxes: Boxes | null = null;
  private colors = new Map<string, number>(); // by op
  private pointed: number | null = null;

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    this.drawing.canvas.addEventListener('pointermove', (event) => this.hover(event));
    this.drawing.canvas.addEventListener('pointerleave', () => this.hover(null));
  }

  private choose(index: number): void {
    this.chosen = index;
    const plan = this.page.report.header.plans[index];
    this.buffers = plan ? [...plan.buffers].sort((a, b) => a.first - b.first) : [];
    this.boxes = plan ? boxesOfPlan(this.buffers, plan.arena) : null;
    const ops = [...new Set(this.buffers.map((buffer) => buffer.op))];
    this.colors = new Map(ops.map((op, i) => [op, i % this.page.palette.groups.length]));
    this.renderList();
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
      { label: 'positions', value: `${buffer.first} to ${buffer.last}` },
    ]);
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== 'plans') return;
    if (page.state.plan !== this.chosen) this.choose(page.state.plan);
    if (!this.boxes) return;
    const plan = page.report.header.plans[this.chosen];
    const { palette } = page;
    const positions = this.buffers.reduce((most, { last }) => Math.max(most, last + 1), 1);
    const surface = this.drawing.draw(this.boxes, [0, positions], [0, plan.arena], {
      colorOf: (box) => palette.groups[this.colors.get(this.buffers[box].op) ?? 0],
      labelOf: (box) => visible(this.buffers[box].op),
      key: `plan ${this.chosen}`,
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
      context.fillText(String(step), plot.left + ((step + 0.5) / positions) * plot.width, plot.top + plot.height + 7);
    }
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
