import { h, visible } from './dom.ts';
import type { View } from './page.ts';

export interface Line {
  label: string;
  value: string;
  color?: string;
  isStrong?: boolean;
}

/**
 * The one box that follows the pointer. It goes as soon as what it tells of may have: with any key,
 * button or wheel, when the pointer leaves the page, and with the drawing that it is for.
 */
export class Tooltip implements View {
  readonly element = h('div', { class: 'tooltip', role: 'tooltip', hidden: true });
  private owner: EventTarget | null = null;

  constructor() {
    for (const type of ['keydown', 'pointerdown', 'wheel', 'scroll', 'blur']) {
      window.addEventListener(type, () => this.hide(), { capture: true, passive: true });
    }
    document.documentElement.addEventListener('pointerleave', () => this.hide());
  }

  render(): void {
    if (this.owner instanceof HTMLElement && this.owner.offsetParent === null) this.hide();
  }

  show(event: MouseEvent, title: string, lines: Line[]): void {
    const rows = lines.map(({ label, value, color, isStrong }) => {
      const swatch = h('i', { class: 'swatch' });
      if (color) swatch.style.background = color;
      return h('div', { class: `tooltip-line${isStrong ? ' strong' : ''}` }, [
        color ? swatch : null,
        h('span', { class: 'tooltip-label' }, visible(label)),
        h('span', { class: 'number' }, visible(value)),
      ]);
    });
    this.element.replaceChildren(h('strong', {}, visible(title)), ...rows);
    this.owner = event.target;
    this.element.hidden = false;
    const { offsetWidth, offsetHeight } = this.element;
    const isRight = event.clientX + offsetWidth + 24 < window.innerWidth;
    const isBelow = event.clientY + offsetHeight + 24 < window.innerHeight;
    const left = isRight ? event.clientX + 14 : event.clientX - offsetWidth - 14;
    const top = isBelow ? event.clientY + 14 : event.clientY - offsetHeight - 10;
    this.element.style.left = `${Math.max(4, left)}px`;
    this.element.style.top = `${Math.max(4, top)}px`;
  }

  hide(): void {
    this.owner = null;
    this.element.hidden = true;
  }
}
