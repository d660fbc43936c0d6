import type { Growth } from '../data/report.ts';
import type { StepLevels } from '../data/summary.ts';
import { baseName, h, onHover, surfaceOf, visible } from '../ui/dom.ts';
import type { Page, View } from '../ui/page.ts';
import { copyButton } from '../ui/place.ts';
import type { Tooltip } from '../ui/tooltip.ts';
import { bytesText, countText, timeText } from '../ui/units.ts';
import { drawByteAxis, FONT, type Plot, plotWithin } from './axes.ts';
import { shortened } from './timeline_marks.ts';

const MARGIN = { left: 72, right: 12, top: 14, bottom: 24 };

function amountText({ marked, what, bytes_per_step, bytes = 0, number = 0, count_per_step }: Growth): string {
  if (marked === false) return bytes > 0 ? `+${bytesText(bytes)}` : `+${countText(number)}`;
  return bytes_per_step > 0 || !what ? `+${bytesText(bytes_per_step)} a step` : `+${Number(count_per_step.toFixed(2))} a step`;
}

function sinceText({ marked, what, count_per_step, steps, since_step = 0, since_ns = 0, number = 0 }: Growth): string {
  if (marked === false) return `${countText(number)} more since ${timeText(since_ns)}`;
  const each = Number(count_per_step.toFixed(2));
  const count = `${each} ${what || 'tensor'}${each === 1 ? '' : 's'} a step`;
  return since_step > 8 ? `${count}, since step ${countText(since_step)} of ${countText(steps)}` : `${count}, over ${countText(steps)} steps`;
}

/** What is live at each step mark, as the change since the first; what growing lines hold stands out. */
export class GrowthView implements View {
  private readonly canvas = h('canvas', { role: 'img', class: 'growth-canvas' });
  private readonly list = h('div', { class: 'growth-list' });
  readonly controls = h('div', { class: 'row muted' });
  readonly element = h('div', { class: 'fill growth' }, [h('div', { class: 'fill' }, this.canvas), this.list]);
  private readonly levels: StepLevels;
  private plot: Plot = { left: 0, top: 0, width: 1, height: 1 };

  constructor(
    private readonly page: Page,
    private readonly tooltip: Tooltip,
  ) {
    this.levels = page.stepLevels;
    onHover(this.canvas, (event) => (event ? this.hover(event) : this.tooltip.hide()));
    this.canvas.addEventListener('click', (event) => {
      const step = this.stepAt(event.offsetX);
      if (step !== null) page.lookAt(page.report.loop.times[step]);
    });
    this.list.replaceChildren(...this.lines());
    const { growth, judgement } = page.report.header;
    const said = judgement && judgement.length > 0 ? judgement.join('. ') : growth.length > 0
      ? `${countText(growth.length)} growing line${growth.length > 1 ? 's' : ''}` : 'no line grows';
    this.controls.append(h('span', { class: growth.length > 0 ? 'warning judgement' : 'judgement' }, visible(said)));
  }

  private stepAt(x: number): number | null {
    const count = this.levels.total.length;
    const step = Math.floor(((x - this.plot.left) / this.plot.width) * count);
    return step >= 0 && step < count ? step : null;
  }

  private hover(event: MouseEvent): void {
    const step = this.stepAt(event.offsetX);
    if (step === null) return this.tooltip.hide();
    const { report } = this.page;
    const { growth } = report.header;
    const name = report.loop.isMarked ? `${report.loop.name || 'step'} ${step}` : 'at';
    const title = `${name}   ${timeText(report.loop.times[step])}`;
    this.tooltip.show(event, title, [
      { label: 'live', value: bytesText(this.levels.total[step]) },
      ...growth.slice(0, 8).map(({ site }, i) => ({
        label: baseName(report.siteName(site)),
        value: bytesText(this.levels.ofGrowth[i][step]),
        color: this.page.palette.warning,
      })),
    ]);
  }

  private lines(): Node[] {
    const { page } = this;
    const { report } = page;
    const { growth, ops } = report.header;
    const show = (site: number, op: number) => page.set({ tab: 'tensors', only: { site, op }, filter: 'all', text: '' });
    const row = (kind: string, site: number, op: number, amount: HTMLElement, name: string, rest: string) =>
      h('div', { class: kind, role: 'button', tabindex: 0 }, [
        amount,
        h('span', { class: 'name' }, visible(name)),
        site > 0 ? copyButton(report.siteName(site)) : null,
        h('span', { class: 'muted' }, rest),
      ], {
        click: () => show(site, op),
        keydown: (event) => {
          if (event.key === 'Enter' && event.target === event.currentTarget) (event.target as HTMLElement).click();
        },
      });
    return growth.flatMap((each) => [
      row('growth-row', each.site, each.op, h('span', { class: 'number warning' }, amountText(each)),
        each.what || ops[each.op] || '', sinceText(each)),
      ...(each.callers ?? []).slice(0, 3).map((caller) => {
        const [name = '', place = ''] = caller.split(' at ');
        return h('div', { class: 'growth-row caller' }, [
          h('span', { class: 'muted' }, 'called by'),
          h('span', { class: 'name' }, visible(name)),
          place ? copyButton(place) : null,
        ]);
      }),
      ...(each.holders ?? []).slice(0, 3).map(({ site, op, storages }) =>
        row('growth-row holder', site, op, h('span', { class: 'muted' }, 'held by'), ops[op] ?? '',
          `${countText(storages)} of its storages`)),
    ]);
  }

  render(): void {
    const { page } = this;
    const { palette } = page;
    if (page.state.tab !== 'growth') return;
    const surface = surfaceOf(this.canvas);
    if (!surface) return;
    const { context } = surface;
    const { total, ofGrowth } = this.levels;
    if (total.length === 0) {
      context.font = FONT;
      context.fillStyle = palette.muted;
      context.fillText('The recording has too few allocations to tell growth, and no step marks: call mark_step() at the end of each iteration.', 12, 24);
      return;
    }
    const plot = this.plot = plotWithin(surface, MARGIN);
    const change = total.map((level) => level - total[0]);
    const low = change.reduce((least, each) => Math.min(least, each), 0) * 1.06;
    const high = change.reduce((most, each) => Math.max(most, each), 1) * 1.06;
    const yOf = (bytes: number) => plot.top + plot.height * (1 - (bytes - low) / (high - low));
    drawByteAxis(context, plot, low, high, palette);
    const bars = Math.min(total.length, Math.floor(plot.width / 2));
    const barWidth = plot.width / bars;
    for (let bar = 0; bar < bars; bar++) {
      const step = Math.floor((bar * total.length) / bars);
      const x = plot.left + bar * barWidth;
      const growing = ofGrowth.reduce((sum, levels) => sum + levels[step] - levels[0], 0);
      const gap = barWidth > 4 ? 1 : 0;
      context.fillStyle = palette.other;
      context.fillRect(x, yOf(change[step]), barWidth - gap, yOf(0) - yOf(change[step]));
      context.fillStyle = palette.warning;
      const part = barWidth > 8 ? 0.5 : 1;
      context.fillRect(x, yOf(growing), (barWidth - gap) * part, yOf(0) - yOf(growing));
    }
    this.drawSteps(context, total.length);
    this.canvas.setAttribute('aria-label', `Change of live bytes over ${total.length} steps, from ` +
      `${bytesText(total[0])} at the first to ${bytesText(total[total.length - 1])} at the last.`);
  }

  private drawSteps(context: CanvasRenderingContext2D, count: number): void {
    const { plot } = this;
    context.font = FONT;
    context.textAlign = 'center';
    context.textBaseline = 'top';
    context.fillStyle = this.page.palette.muted;
    const { loop } = this.page.report;
    const name = shortened(visible(loop.name || 'step'), 10);
    const widest = context.measureText(`${name} ${count}`).width + 14;
    const every = Math.max(1, Math.ceil((count * widest) / plot.width));
    for (let step = 0; step < count; step += every) {
      const text = loop.isMarked ? `${name} ${step}` : timeText(loop.times[step]);
      context.fillText(text, plot.left + ((step + 0.5) / count) * plot.width, plot.top + plot.height + 7);
    }
  }
}

