import './style.css';
import { decode, ReportError, unpack } from './data/decode.ts';
import { ofDevice } from './data/device.ts';
import { showComparison } from './ui/compare.ts';
import { h } from './ui/dom.ts';
import { Page } from './ui/page.ts';
import { showPage } from './ui/shell.ts';

async function start(): Promise<void> {
  const text = document.getElementById('tenure-report')?.textContent ?? '';
  if (text === '' || text.startsWith('@')) {
    throw new ReportError('This page has no data yet: `tenure report FILE -o report.html` fills it.');
  }
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const reports = await Promise.all(text.trim().split(/\s+/).map(async (part) => decode(await unpack(part))));
  const address = new URLSearchParams(location.hash.slice(1));
  const only = address.get('only');
  const isPair = reports.length === 2;
  if (isPair && only === null) {
    window.addEventListener('hashchange', () => location.reload());
    return showComparison(reports[0], reports[1], dark.matches);
  }
  const whole = reports[only === 'after' ? 1 : 0];
  const device = whole.header.devices?.indexOf(address.get('device') ?? '') ?? -1;
  const page = new Page(device < 0 ? whole : ofDevice(whole, device), dark.matches);
  dark.addEventListener('change', () => page.set({ isDark: dark.matches }));
  showPage(page, isPair ? only : null, whole.header.devices?.[device]);
}

start().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  document.body.replaceChildren(
    h('main', { class: 'failure', role: 'alert' }, [h('h1', {}, 'Tenure'), h('p', {}, reason)]),
  );
  if (!(error instanceof ReportError)) throw error;
});
