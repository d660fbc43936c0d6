// What helps to find something again: the address, the title, search, copied lines, a second
// recording beside the first, time beside bytes.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';
import { makePage, pageWith } from '../page.mjs';
import { synthesize } from '../synthetic.mjs';

let browser;
const small = synthesize();
const html = makePage(small.header, small.columns);
before(async () => { browser = await Browser.start(); });
after(() => browser.stop());

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}
const shown = (page) => page.locator('.timeline-canvas').first().getAttribute('aria-label');
const dataOf = (page) => /type="text\/plain">([^<]*)</.exec(page)[1];

test('the title names the program', async () => {
  const page = await browser.open(html);
  assert.equal(await page.title(), 'train --steps 24 --layers 6 - Tenure');
  await page.close();
  const far = await browser.open(makePage({ ...small.header, program: '/home/me/a/b/train --in /data/x' }, small.columns));
  assert.equal(await far.title(), 'train --in /data/x - Tenure');
  assert.equal(await far.locator('.program').innerText(), 'train --in /data/x');
  assert.equal(await far.locator('.program').getAttribute('title'), '/home/me/a/b/train --in /data/x');
  await far.close();
});

test('the address shows again what it showed', async () => {
  const first = await browser.open(html);
  await press(first, 'g', '3', '+', '+', 'ArrowLeft', 'n');
  await first.getByLabel('Which tensors').getByRole('button', { name: 'idle' }).click();
  await first.getByPlaceholder('filter').fill('block1');
  await settled(first);
  await first.locator('.table-row').nth(1).click();
  await first.waitForFunction(() => location.hash.includes('row='));
  const hash = new URL(first.url()).hash;
  const facts = async (page) => [
    await shown(page), await page.locator('.tensor').innerText(), await page.locator('.panel-controls').innerText(),
    await page.locator('.moment').innerText(), await page.getByPlaceholder('filter').inputValue(),
  ];
  const second = await browser.open(html, { hash });
  assert.deepEqual(await facts(second), await facts(first));
  assert.deepEqual(second.problems, []);

  await second.evaluate(() => { location.hash = 'tab=growth'; });
  await settled(second);
  assert.equal(await second.getByRole('tab', { name: 'growth' }).getAttribute('aria-selected'), 'true');
  assert.match(await shown(second), /from 0 ns to/);
  await first.close();
  await second.close();
});

test('an address that says nonsense shows the page as it opens', async () => {
  const plain = await browser.open(html);
  for (const hash of ['#tab=none&row=99999999&from=9e9&to=-1&by=__proto__&at=NaN&site=1.5&group=x', '#%', '#<img src=x onerror=alert(1)>']) {
    const page = await browser.open(html, { hash });
    assert.equal(await shown(page), await shown(plain));
    assert.deepEqual(page.problems, []);
    await page.close();
  }
  await plain.close();
});

test('a click copies a line, and a key that of the chosen tensor', async () => {
  const page = await browser.open(html);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  await page.getByRole('button', { name: /block0\.w0/ }).click();
  await settled(page);
  await page.locator('.tensor .copy').first().click();
  await page.waitForSelector('.copy[data-copied]');
  assert.equal(await copied(), 'src/model/attention.cpp:30');
  await press(page, '7');
  await page.locator('.growth-row .copy').first().click();
  await page.waitForSelector('.growth-row .copy[data-copied]');
  assert.equal(await copied(), 'src/train.cpp:48');
  assert.match(await page.locator('.growth-row').first().innerText(), /1 tensor a step/);
  const callers = page.locator('.growth-row.caller');
  assert.deepEqual(await callers.allInnerTexts().then((all) => all.map((text) => text.replace(/\s+/g, ' '))),
    ['called by log_metrics src/metrics.cpp:16', 'called by main src/train.cpp:61']);
  await callers.locator('.copy').first().click();
  await page.waitForSelector('.growth-row.caller .copy[data-copied]');
  assert.equal(await copied(), 'src/metrics.cpp:16');
  assert.equal(await page.getByRole('tab', { name: 'growth' }).getAttribute('aria-selected'), 'true');
  await press(page, 'c');
  assert.equal(await copied(), 'src/model/attention.cpp:30');
  await page.close();
});

test('one search finds names of every kind', async () => {
  const page = await browser.open(html);
  const kinds = async (text) => {
    await press(page, 's');
    await page.keyboard.type(text);
    await settled(page);
    return page.locator('.search-row > :first-child').allInnerTexts();
  };
  assert.ok((await kinds('block0')).includes('scope'));
  assert.ok((await page.locator('.search-row > :first-child').allInnerTexts()).includes('tensor'));
  await press(page, 'Escape');
  for (const [text, kind] of [['train.cpp:48', 'line'], ['softmax', 'op'], ['forward', 'plan'], ['training', 'budget'], ['train 17', 'step']]) {
    assert.ok((await kinds(text)).includes(kind), text);
    await press(page, 'Escape');
  }
  await kinds('nothing at all');
  assert.match(await page.locator('.search-list').innerText(), /Nothing has such a name/);
  await press(page, 'Escape');
  await kinds('train.cpp:48');
  await press(page, 'ArrowDown', 'ArrowUp', 'Enter');
  assert.match(await page.locator('.chip').innerText(), /train\.cpp:48/);
  await kinds('block3.w1');
  await page.locator('.search-row').last().click();
  await settled(page);
  assert.match(await page.locator('.tensor').innerText(), /block3\.w1/);
  await kinds('loss(');
  await press(page, 'Enter');
  assert.match(await page.locator('.plan-row[aria-selected=true]').innerText(), /loss\(/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('time stands beside bytes, and sorts', async () => {
  const page = await browser.open(html);
  for (const tab of ['4', '5', '6']) {
    await press(page, tab);
    await page.getByRole('columnheader', { name: 'time' }).getByRole('button').click();
    await settled(page);
    const at = await page.locator('[role=columnheader]').evaluateAll((all) => all.findIndex(({ textContent }) => textContent === 'time'));
    const times = await page.locator('.table-row').evaluateAll((rows, i) => rows.slice(0, 3).map((row) => row.children[i].textContent), at);
    assert.equal(times[0], { 4: '300 µs', 5: '1 ms', 6: '800 µs' }[tab]);
    assert.equal(times[1], { 4: '150 µs', 5: '500 µs', 6: '400 µs' }[tab]);
  }
  await page.close();
});

test('two recordings stand side by side', async () => {
  const steady = synthesize({ leaks: false, steps: 12 });
  const pair = pageWith(`${dataOf(makePage({ ...steady.header, program: 'old' }, steady.columns))} ${dataOf(html)}`);
  const page = await browser.open(pair);
  assert.deepEqual(page.problems, []);
  assert.equal(await page.title(), 'old against train --steps 24 --layers 6 - Tenure');
  assert.equal(await page.locator('.timeline-canvas').count(), 2);
  assert.match(await page.locator('.figures').innerText(), /peak\s+\d+\.?\d* MiB → 24\.0 MiB/);
  const rows = () => page.locator('.table-row').evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent).join(' ')));
  assert.match((await rows())[0], /\.cpp:\d+ [+\u2212]/);
  await page.getByPlaceholder('filter').fill('train.cpp:48');
  await settled(page);
  const [leak] = await rows();
  assert.match(leak, /train\.cpp:48 \+1008 KiB/);
  await page.getByPlaceholder('filter').fill('');
  await page.getByRole('button', { name: 'category' }).last().click();
  await settled(page);
  assert.match((await rows()).join('\n'), /activation[\s\S]*parameter/);
  await page.getByRole('button', { name: 'scope' }).first().click();
  await settled(page);
  for (const label of await page.locator('.timeline-canvas').evaluateAll((all) => all.map((each) => each.ariaLabel))) {
    assert.match(label, /by scope/);
  }
  await page.getByRole('link', { name: 'open alone' }).last().click();
  await page.waitForSelector('.figures .figure:nth-child(4)');
  await page.waitForFunction(() => document.querySelectorAll('.timeline-canvas').length === 1);
  await page.getByRole('button', { name: 'both recordings' }).click();
  await page.waitForFunction(() => document.querySelectorAll('.timeline-canvas').length === 2);
  assert.deepEqual(page.problems, []);
  await page.close();
});
