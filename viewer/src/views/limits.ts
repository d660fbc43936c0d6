import type { Budget, Refusal, Report } from '../data/report.ts';
import { baseName, h, onHover, surfaceOf, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { copyButton } from '../ui/place.ts';
import type { Line, Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';
import { drawByteAxis, drawTimeAxis, type Plot, plotWithin } from './axes.ts';
import { Labels } from './labels.ts';

const MARGIN = { left: 72, right: 12, top: 16, bottom: 24 };

/** Who refused: a budget, the system. */
function refuser(report: Report, { budget, cause }: Refusal): string {
  if (budget > 0) return `budget ${report.header.budgets[budget - 1]?.name ?? ''}`;
  return cause === 'injected' ? 'an injected fault' : 'the system';
}

export function refusalText(report: Report, refusal: Refusal): { title: string; lines: Line[] } {
  const { ops } = report.header;
  const where = (op: number, site: number) => `${ops[op] ?? ''}  ${baseName(report.siteName(site))}`;
  return {
    title: `${bytesText(refusal.bytes)} refused by ${refuser(report, refusal)}`,
    lines: [
      { label: `asked by ${where(refusal.op, refusal.site)}`, value: timeText(refusal.t), isStrong: true },
      ...refusal.holders.slice(0, 6).map(({ op, site, bytes }) => ({ label: `held by ${where(op, site)}`, value: bytesText(bytes) })),
    ],
  };
}

/** Each budget on an axis of its own: what is charged to it against its limit; and what was refused. */
export class Limits implements View {
  private readonly canvas = h('canvas', { role: 'img', class: 'limits-canvas' });
  private readonly list = h('div', { class: 'plan-list', role: 'listbox', 'aria-label': 'Budgets' });
  private readonly refusals = h('div', { class: 'refusals' });
  readonly controls = h('div', { class: 'row muted' }, 'What is charged to a budget against its limit, and what was refused.');
  readonly element = h('div', { class: 'fill plans limits' }, [
    this.list, h('div', { class: 'fill limits-right' }, [h('div', { class: 'fill' }, this.canvas), this.refusals]),
  ]);
  private chosen = 0;
  private listed = '';
  private plot: Plot = { left: 0, top: 0, width: 1, height: 1 };

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    onHover(this.canvas, (event) => (event ? this.hover(event) : this.tooltip.hide()));
    this.canvas.addEventListener('click', (event) => {
      const [t0, t1] = page.state.window;
      page.lookAt(t0 + ((event.offsetX - this.plot.left) / this.plot.width) * (t1 - t0));
    });
  }

  private hover(event: MouseEvent): void {
    const budget = this.page.report.header.budgets[this.chosen];
    if (!budget?.charged) return this.tooltip.hide();
    const [t0, t1] = this.page.state.window;
    const t = t0 + ((event.offsetX - this.plot.left) / this.plot.width) * (t1 - t0);
    this.tooltip.show(event, `${budget.name}   ${timeText(t)}`, [
      { label: 'charged', value: bytesText(chargedAt(budget, t)) },
      { label: 'limit', value: bytesText(limitAt(budget, t)) },
    ]);
  }

  render(): void {
    const { page } = this;
    if (page.state.tab !== 'limits') return;
    const key = `${this.chosen} ${page.state.cursor}`;
    if (key !== this.listed) {
      this.listed = key;
      this.renderList();
      this.renderRefusals();
    }
    this.draw();
  }

  private renderList(): void {
    const { budgets } = this.page.report.header;
    this.list.replaceChildren(...budgets.map(({ name, limit, number = 1, peak = 0, refusals = 0 }, index) => {
      const fill = h('b', { class: 'plan-bar measured' });
      fill.style.width = `${Math.min(100, (100 * peak) / Math.max(limit, 1))}%`;
      return h('button', {
        type: 'button', class: 'plan-row', role: 'option', 'aria-selected': String(index === this.chosen),
      }, [
        h('span', { class: 'name', title: visible(name) }, `${number > 1 ? `${countText(number)} x ` : ''}${visible(name)}`),
        h('span', { class: 'plan-figure' }, [fill, `at most ${bytesText(peak)} of ${bytesText(limit)}`]),
        h('span', { class: refusals > 0 ? 'warning' : 'muted' }, refusals > 0 ? `${countText(refusals)} refused` : 'nothing refused'),
      ], {
        click: () => {
          this.chosen = index;
          this.page.schedule();
        },
      });
    }));
    if (budgets.length === 0) this.list.append(h('p', { class: 'muted' }, 'No budget was in force while recording.'));
  }

  private renderRefusals(): void {
    const { page } = this;
    const { report } = page;
    const { refusals = [], ops } = report.header;
    this.refusals.replaceChildren(...refusals.slice(0, 200).map((refusal) => {
      const { t, bytes, used, op, site, holders } = refusal;
      return h('div', { class: `refusal${page.state.cursor === t ? ' is-chosen' : ''}` }, [
        h('button', { type: 'button', class: 'quiet' }, timeText(t), { click: () => page.lookAt(t) }),
        h('span', { class: 'warning' }, visible(`${bytesText(bytes)} refused by ${refuser(report, refusal)}, which held ${bytesText(used)}`)),
        h('span', {}, ['asked by ', visible(ops[op] || 'unknown'), ' ', site > 0 ? copyButton(report.siteName(site)) : null]),
        h('div', { class: 'refusal-holders' }, holders.slice(0, 5).map((holder) =>
          h('button', { type: 'button', class: 'quiet' },
            visible(`${bytesText(holder.bytes)} by ${ops[holder.op] ?? ''} ${baseName(report.siteName(holder.site))}`), {
              click: () => page.set({
                tab: 'tensors', filter: 'at cursor', cursor: t, only: { site: holder.site, op: holder.op }, text: '',
              }),
            }))),
      ]);
    }));
    if (refusals.length === 0) this.refusals.replaceChildren(h('p', { class: 'muted' }, 'Nothing was refused.'));
  }

  private draw(): void {
    const surface = surfaceOf(this.canvas);
    const budget = this.page.report.header.budgets[this.chosen];
    if (!surface) return;
    const { context, height } = surface;
    const { palette, report, state } = this.page;
    const [t0, t1] = state.window;
    const plot = this.plot = plotWithin(surface, MARGIN);
    this.canvas.setAttribute('aria-label', budget
      ? visible(`Budget ${budget.name}: at most ${bytesText(budget.peak ?? 0)} of ${bytesText(budget.limit)} charged`) : 'No budget');
    if (!budget) return;
    const { t_ns = [], bytes = [] } = budget.charged ?? {};
    const scale = Math.max(budget.limit, budget.peak ?? 0, 1) * 1.1;
    const xOf = (t: number) => plot.left + ((t - t0) / (t1 - t0)) * plot.width;
    const yOf = (value: number) => plot.top + plot.height * (1 - value / scale);
    drawByteAxis(context, plot, 0, scale, palette);
    drawTimeAxis(context, plot, t0, t1, palette);
    context.save();
    context.beginPath();
    context.rect(plot.left, 0, plot.width, height);
    context.clip();
    const end = budget.end_ns === undefined || budget.end_ns < 0 ? report.end : budget.end_ns;
    context.beginPath();
    context.moveTo(xOf(budget.begin_ns ?? 0), yOf(0));
    let level = 0;
    t_ns.forEach((t, i) => {
      context.lineTo(xOf(t), yOf(level));
      context.lineTo(xOf(t), yOf(bytes[i]));
      level = bytes[i];
    });
    context.lineTo(xOf(end), yOf(level));
    context.lineTo(xOf(end), yOf(0));
    context.fillStyle = palette.groups[0];
    context.fill();
    context.strokeStyle = palette.warning;
    context.setLineDash([5, 4]);
    context.beginPath();
    (budget.limits ?? [[budget.begin_ns ?? 0, budget.limit]]).forEach(([since, limit], i, all) => {
      context.lineTo(xOf(since), yOf(limit));
      context.lineTo(xOf(all[i + 1]?.[0] ?? end), yOf(limit));
    });
    context.stroke();
    context.setLineDash([]);
    const labels = new Labels(context, plot, palette);
    labels.add({ text: visible(`budget ${budget.name} ${bytesText(budget.limit)}`), x: Math.max(plot.left, xOf(budget.begin_ns ?? 0)) + 6, y: yOf(budget.limit) - 2, color: palette.warning });
    context.fillStyle = palette.warning;
    for (const refusal of report.header.refusals ?? []) {
      if (refusal.budget !== this.chosen + 1) continue;
      const x = xOf(refusal.t);
      context.fillRect(x, yOf(refusal.used + refusal.bytes), 2, yOf(refusal.used) - yOf(refusal.used + refusal.bytes));
      labels.add({ text: `${bytesText(refusal.bytes)} refused`, x: x + 5, y: Math.max(plot.top + 26, yOf(refusal.used) - 2), color: palette.warning });
    }
    context.fillStyle = palette.accent;
    context.fillRect(Math.round(xOf(state.cursor)), plot.top - 6, 1, plot.height + 6);
    context.restore();
  }
}

function chargedAt({ charged }: Budget, t: number): number {
  let level = 0;
  charged?.t_ns.forEach((each, i) => (level = each <= t ? charged.bytes[i] : level));
  return level;
}

function limitAt({ limits, limit }: Budget, t: number): number {
  return limits?.reduce((at, [since, each]) => (since <= t ? each : at), limits[0]?.[1] ?? limit) ?? limit;
}
