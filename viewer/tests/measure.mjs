// How long a page with a million events takes; prints figures, asserts nothing.
import { Browser, settled } from './browser.mjs';
import { makePage } from './page.mjs';
import { synthesize } from './synthetic.mjs';

const events = Number(process.argv[2] ?? 1e6);
const { header, columns } = synthesize({ steps: Math.round(events / 2 / 63) });
const started = performance.now();
const html = makePage(header, columns);
console.log(`${columns.birth_ns.length} storages, page of ${(html.length / 1e6).toFixed(1)} MB ` +
  `(packed in ${((performance.now() - started) / 1000).toFixed(2)} s)`);

const browser = await Browser.start();
const page = await browser.open(html);
const opened = await page.evaluate(() => performance.getEntriesByName('interactive')[0].startTime);
console.log(`interactive ${(opened / 1000).toFixed(2)} s after opening`);

async function time(what, act) {
  const start = performance.now();
  await act();
  await settled(page);
  console.log(`${what.padEnd(28)} ${(performance.now() - start).toFixed(0)} ms (3 frames, 50 ms, are the measurement's)`);
}
await time('nothing', async () => undefined);
await time('zoom in', () => page.keyboard.press('+'));
await time('zoom in again', () => page.keyboard.press('+'));
await time('stack by op', () => page.keyboard.press('g'));
await time('stack by line', () => page.keyboard.press('g'));
await time('map', () => page.keyboard.press('2'));
await time('map, zoomed out', () => page.keyboard.press('0'));
await time('tensors', () => page.keyboard.press('3'));
await time('tensors by line', () => page.getByRole('columnheader', { name: 'line' }).getByRole('button').click());
await time('tensors, filtered', () => page.getByPlaceholder('filter').fill('softmax block3'));
await time('lines', async () => {
  await page.keyboard.press('Escape');
  await page.keyboard.press('4');
});
await time('flame of the window', async () => {
  await page.keyboard.press('1');
  await page.getByRole('button', { name: 'allocated in window' }).click();
});
await browser.stop();
