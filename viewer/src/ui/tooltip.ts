import { h, visible } from './dom.ts';

export interface Line {
  label: string;
  value: string;
  color?: string;
  isStrong?: boolean;
}

/** The one box that follows the pointer. */
export class Tooltip {
  readonly element = h('div', { class: 'tooltip', role: 'tooltip', hidden: true });

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
    this.element.hidden = true;
  }
}
