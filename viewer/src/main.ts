import './style.css';
import { decode, ReportError, unpack } from './data/decode.ts';
import { h } from './ui/dom.ts';
import { Page } from './ui/page.ts';
import { showPage } from './ui/shell.ts';

async function start(): Promise<void> {
  const text = document.getElementById('tenure-report')?.textContent ?? '';
  if (text === '' || text.startsWith('@')) {
    throw new ReportError('This page has no data yet: `tenure report FILE -o report.html` fills it.');
  }
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const page = new Page(decode(await unpack(text)), dark.matches);
  dark.addEventListener('change', () => page.set({ isDark: dark.matches }));
  showPage(page);
}

start().catch((error: unknown) => {
  const reason = error instanceof Error ? error.message : String(error);
  document.body.replaceChildren(
    h('main', { class: 'failure', role: 'alert' }, [h('h1', {}, 'Tenure'), h('p', {}, reason)]),
  );
  if (!(error instanceof ReportError)) throw error;
});
