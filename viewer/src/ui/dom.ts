type Child = Node | string | null;
type Listeners = { [E in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[E]) => void };
type Attributes = Record<string, string | number | boolean | undefined>;

/** Makes an element. Strings become text nodes: a name from a program is never markup. */
export function h<T extends keyof HTMLElementTagNameMap>(
  tag: T,
  attributes: Attributes = {},
  children: Child | Child[] = [],
  listeners: Listeners = {},
): HTMLElementTagNameMap[T] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of Array.isArray(children) ? children : [children]) {
    if (child !== null) element.append(child);
  }
  for (const [type, listener] of Object.entries(listeners)) {
    element.addEventListener(type, listener as EventListener);
  }
  return element;
}

/** Control characters as visible pictures, so that a name shows in one line and as it is. */
export function visible(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (c) => {
    const code = c.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd';
  });
}

/** The last part of a path; the whole of it belongs in a title. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}

/** "train --steps 9" of "/home/me/build/train --steps 9": folders say nothing of what a program is. */
export function programName(program: string): string {
  const end = program.indexOf(' ') < 0 ? program.length : program.indexOf(' ');
  return baseName(program.slice(0, end)) + program.slice(end) || 'a recording';
}

export interface Surface {
  context: CanvasRenderingContext2D;
  width: number; // in CSS pixels
  height: number;
  ratio: number;
}

/** Makes the canvas as many pixels as the screen shows, cleared, in CSS coordinates. */
export function surfaceOf(canvas: HTMLCanvasElement): Surface | null {
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const context = canvas.getContext('2d');
  if (!context || width < 1 || height < 1) return null;
  const ratio = window.devicePixelRatio || 1;
  const pixelWidth = Math.round(width * ratio);
  const pixelHeight = Math.round(height * ratio);
  if (canvas.width !== pixelWidth || canvas.height !== pixelHeight) {
    canvas.width = pixelWidth;
    canvas.height = pixelHeight;
  }
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return { context, width, height, ratio };
}

/** A row of buttons of which one is chosen. */
export function segmented<T extends string>(
  label: string,
  options: readonly T[],
  names: Partial<Record<T, string>>,
  choose: (option: T) => void,
): { element: HTMLElement; show: (chosen: T) => void } {
  const buttons = options.map((option) =>
    h('button', { type: 'button', 'data-option': option }, names[option] ?? option, {
      click: () => choose(option),
    }),
  );
  const element = h('div', { class: 'segmented', role: 'group', 'aria-label': label }, buttons);
  const show = (chosen: T) => {
    for (const button of buttons) {
      button.setAttribute('aria-pressed', String(button.dataset['option'] === chosen));
    }
  };
  return { element, show };
}

/** Tells where the pointer is over an element, and null when it has left. */
export function onHover(element: HTMLElement, hover: (event: MouseEvent | null) => void): void {
  element.addEventListener('pointermove', hover);
  element.addEventListener('pointerleave', () => hover(null));
}
