import { GROUPINGS } from '../data/grouping.ts';
import { Endings } from '../views/endings.ts';
import { Flame } from '../views/flame.ts';
import { GrowthView } from '../views/growth.ts';
import { Head } from '../views/head.ts';
import { Limits } from '../views/limits.ts';
import { MemoryMap } from '../views/memory_map.ts';
import { Overview } from '../views/overview.ts';
import { Plans } from '../views/plans.ts';
import { Pool } from '../views/pool.ts';
import { Search } from '../views/search.ts';
import { Side } from '../views/side.ts';
import { Summaries } from '../views/summaries.ts';
import { Tensors } from '../views/tensors.ts';
import { Timeline } from '../views/timeline.ts';
import { followAddress } from './address.ts';
import { h, programName, segmented, visible } from './dom.ts';
import { Help } from './help.ts';
import { listenToKeys } from './keys.ts';
import { type Page, type Tab, TABS, type View } from './page.ts';
import { Tooltip } from './tooltip.ts';

const ALL_DEVICES = 'all devices';

interface Panel extends View {
  controls: HTMLElement;
  focusSearch?: () => void;
}

/** Puts the page together. `ofPair` is which of two recordings it shows, if there are two; `device` which
 *  device alone, if not all. */
export function showPage(page: Page, ofPair: string | null = null, device = ALL_DEVICES): void {
  const tooltip = new Tooltip();
  const help = new Help();
  const timeline = new Timeline(page, tooltip);
  const panels: Record<Tab, Panel> = {
    flame: new Flame(page, tooltip),
    map: new MemoryMap(page, tooltip),
    tensors: new Tensors(page),
    sites: new Summaries(page, 'sites', 'site', 'Lines'),
    ops: new Summaries(page, 'ops', 'op', 'Ops'),
    scopes: new Summaries(page, 'scopes', 'scope', 'Scopes'),
    growth: new GrowthView(page, tooltip),
    plans: new Plans(page, tooltip),
    endings: new Endings(page),
    limits: new Limits(page, tooltip),
    pool: new Pool(page, tooltip),
  };
  const search = new Search(page);
  const head = new Head(page, search.element, () => help.toggle());
  if (ofPair !== null) {
    head.element.querySelector('h1')?.after(h('button', { type: 'button', class: 'quiet' }, 'both recordings', {
      click: () => {
        location.hash = '';
        location.reload();
      },
    }));
  }
  const overview = new Overview(page);
  const side = new Side(page);
  const groups = segmented('Stack by', GROUPINGS, { site: 'line', dtype: 'type' }, (groupBy) => page.set({ groupBy }));
  const lower = new Lower(page, panels);
  const fixed = new URLSearchParams(ofPair === null ? {} : { only: ofPair });
  if (device !== ALL_DEVICES) fixed.set('device', device);
  const devices = deviceChoice(page, device, fixed);

  const upper = h('section', { class: 'upper', 'aria-label': 'Timeline' }, [
    h('div', { class: 'row controls' }, [
      h('span', { class: 'muted' }, 'live bytes by'), groups.element,
      ...(devices === null ? [] : [h('span', { class: 'muted' }, 'of'), devices]),
      h('button', { type: 'button', class: 'quiet' }, 'whole recording', { click: () => page.zoomTo(page.report.begin, page.report.end) }),
    ]),
    timeline.element,
    overview.element,
  ]);
  const splitter = newSplitter(upper, () => page.schedule());
  document.body.replaceChildren(
    h('div', { class: 'page' }, [
      head.element,
      h('main', {}, [h('div', { class: 'left' }, [upper, splitter, lower.element]), side.element]),
    ]),
    tooltip.element,
    help.element,
  );

  for (const view of [head, timeline, overview, side, lower, ...Object.values(panels), tooltip]) page.add(view);
  document.title = `${visible(programName(page.report.header.program))} - Tenure`;
  followAddress(page, fixed.toString());
  page.add({ element: groups.element, render: () => groups.show(page.state.groupBy) });
  listenToKeys(page, {
    isHelpOpen: () => help.element.open,
    toggleHelp: () => help.toggle(),
    searchAll: () => search.focus(),
    focusSearch: () => {
      if (!panels[page.state.tab].focusSearch) {
        page.set({ tab: 'tensors' });
        lower.render();
      }
      panels[page.state.tab].focusSearch?.();
    },
  });
  new ResizeObserver(() => page.schedule()).observe(document.body);
  page.schedule();
}

/** Which device the page is of, where there are several. A page within another has no address to say it by. */
function deviceChoice(page: Page, device: string, fixed: URLSearchParams): HTMLElement | null {
  const { devices = [] } = page.report.header;
  if (devices.length < 2 || location.protocol === 'about:') return null;
  const choice = segmented('Device', [ALL_DEVICES, ...devices], {}, (chosen) => {
    const address = new URLSearchParams(fixed);
    if (chosen === ALL_DEVICES) address.delete('device');
    else address.set('device', chosen);
    address.set('tab', page.state.tab);
    location.hash = address.toString();
    location.reload();
  });
  choice.show(device);
  return choice.element;
}

/** The tabs below the timeline. */
class Lower implements View {
  private readonly tabs;
  private readonly controls = h('div', { class: 'panel-controls' });
  private readonly body = h('div', { class: 'panel-body', role: 'tabpanel' });
  readonly element: HTMLElement;
  private shown: Tab | null = null;

  constructor(
    private readonly page: Page,
    private readonly panels: Record<Tab, Panel>,
  ) {
    this.tabs = TABS.map((tab) =>
      h('button', { type: 'button', role: 'tab', 'data-tab': tab }, tab === 'sites' ? 'lines' : tab, {
        click: () => page.set({ tab }),
      }));
    this.element = h('section', { class: 'lower' }, [
      h('div', { class: 'row tabs' }, [
        h('div', { role: 'tablist', 'aria-label': 'Views' }, this.tabs),
        this.controls,
      ]),
      this.body,
    ]);
  }

  render(): void {
    const { tab } = this.page.state;
    if (tab === this.shown) return;
    this.shown = tab;
    for (const button of this.tabs) {
      button.setAttribute('aria-selected', String(button.dataset['tab'] === tab));
    }
    this.controls.replaceChildren(this.panels[tab].controls);
    this.body.replaceChildren(this.panels[tab].element);
  }
}

/** A bar that divides the height between timeline and tabs, by pointer or arrow keys. */
function newSplitter(upper: HTMLElement, changed: () => void): HTMLElement {
  const splitter = h('div', {
    class: 'splitter', role: 'separator', tabindex: 0, 'aria-orientation': 'horizontal',
    'aria-label': 'Height of the timeline',
  });
  const resize = (height: number) => {
    const most = window.innerHeight * 0.8;
    upper.style.flexBasis = `${Math.min(Math.max(height, 160), most)}px`;
    changed();
  };
  splitter.addEventListener('pointerdown', (event) => splitter.setPointerCapture(event.pointerId));
  splitter.addEventListener('pointermove', (event) => {
    if (splitter.hasPointerCapture(event.pointerId)) resize(event.clientY - upper.getBoundingClientRect().top);
  });
  splitter.addEventListener('keydown', (event) => {
    const step = { ArrowUp: -20, ArrowDown: 20 }[event.key];
    if (step === undefined) return;
    event.stopPropagation();
    event.preventDefault();
    resize(upper.offsetHeight + step);
  });
  return splitter;
}
