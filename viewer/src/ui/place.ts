import { baseName, h, visible } from './dom.ts';

/**
 * A line of source, as "dir/train.cpp:12". Where there is little room the file's name is cut, never
 * the number: without it a reader cannot go there.
 */
export function placeElement(place: string): HTMLElement {
  const colon = place.lastIndexOf(':');
  const [file, line] = colon < 0 ? [place, ''] : [place.slice(0, colon), place.slice(colon)];
  return h('span', { class: 'place', title: visible(place) }, [
    h('span', { class: 'place-file' }, visible(baseName(file))),
    h('span', { class: 'place-line' }, visible(line)),
  ]);
}

/** The whole path with its line, which a click copies. */
export function copyButton(place: string): HTMLElement {
  const button = h('button', { type: 'button', class: 'copy', title: 'Copy (c copies the line of the chosen tensor)' },
    h('code', {}, visible(place)), {
      click: (event) => {
        event.stopPropagation();
        void copy(place).then(() => tell(button));
      },
    });
  return button;
}

function tell(button: HTMLElement): void {
  button.dataset['copied'] = 'copied';
  setTimeout(() => delete button.dataset['copied'], 1200);
}

/** Also where a page has no right to the clipboard, as in some frames. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const field = h('textarea', { class: 'unseen' }, text);
    document.body.append(field);
    field.select();
    document.execCommand('copy');
    field.remove();
  }
}
