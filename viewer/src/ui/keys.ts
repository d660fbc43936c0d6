import { GROUPINGS } from '../data/grouping.ts';
import { lowerBound } from '../data/report.ts';
import { type Page, TABS } from './page.ts';
import { copy } from './place.ts';

export interface KeyTargets {
  isHelpOpen: () => boolean;
  toggleHelp: () => void;
  focusSearch: () => void;
  searchAll: () => void;
}

/** The keys of the help overlay, wherever the focus is but in a text field. */
export function listenToKeys(page: Page, targets: KeyTargets): void {
  document.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const field = event.target instanceof HTMLInputElement ? event.target : null;
    if (field) {
      if (event.key === 'Escape') field.blur();
      return;
    }
    // An open dialog has its own Escape.
    if (targets.isHelpOpen() && event.key !== '?') return;
    if (press(page, targets, event)) event.preventDefault();
  });
}

function press(page: Page, targets: KeyTargets, event: KeyboardEvent): boolean {
  const { window, cursor } = page.state;
  const span = window[1] - window[0];
  const around = cursor >= window[0] && cursor <= window[1] ? cursor : window[0] + span / 2;
  switch (event.key) {
    case 'ArrowLeft':
    case 'ArrowRight': {
      const sign = event.key === 'ArrowLeft' ? -1 : 1;
      if (event.shiftKey) page.lookAt(cursor + sign * span * 0.01);
      else page.panBy(sign * 0.1);
      return true;
    }
    case '+':
    case '=': page.zoomBy(0.6, around); return true;
    case '-': page.zoomBy(1 / 0.6, around); return true;
    case '0': page.zoomTo(page.report.begin, page.report.end); return true;
    case 'p': page.lookAt(page.peakTime); return true;
    case 'n': return stepFrom(page, 1);
    case 'N': return stepFrom(page, -1);
    case 'g': return groupFrom(page, 1);
    case 'G': return groupFrom(page, -1);
    case 's': targets.searchAll(); return true;
    case 'c': return copyLine(page);
    case '/': targets.focusSearch(); return true;
    case 't': page.set({ isDark: !page.state.isDark }); return true;
    case '?': targets.toggleHelp(); return true;
    case 'Escape': page.set({ row: null, group: null, only: null, text: '' }); return true;
  }
  const tab = TABS[Number(event.key) - 1];
  if (tab) page.set({ tab });
  return tab !== undefined;
}

function copyLine(page: Page): boolean {
  const { row } = page.state;
  if (row === null || page.report.rows.site[row] === 0) return false;
  void copy(page.report.siteName(page.report.rows.site[row]));
  return true;
}

function stepFrom(page: Page, direction: 1 | -1): boolean {
  const { steps } = page.report;
  const at = lowerBound(steps, page.state.cursor);
  const next = direction < 0 ? at - 1 : steps[at] === page.state.cursor ? at + 1 : at;
  if (next >= 0 && next < steps.length) page.lookAt(steps[next]);
  return true;
}

function groupFrom(page: Page, direction: 1 | -1): boolean {
  const at = GROUPINGS.indexOf(page.state.groupBy);
  page.set({ groupBy: GROUPINGS[(at + direction + GROUPINGS.length) % GROUPINGS.length] });
  return true;
}
