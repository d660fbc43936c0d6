// The built page in Chromium: it opens, answers to pointer and keys, and filters.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';
import { makePage } from '../page.mjs';
import { synthesize } from '../synthetic.mjs';

let browser;
const small = synthesize();
const html = makePage(small.header, small.columns);
before(async () => { browser = await Browser.start(); });
after(() => browser.stop());

const shown = (page) => page.locator('.timeline-canvas').getAttribute('aria-label');
const text = (page, selector) => page.locator(selector).first().innerText();

/** Just above the time axis of a map: offset 0. */
async function lowest(page, x) {
  const { height } = await page.locator('.map-canvas').boundingBox();
  return { x, y: height - 28 };
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}

test('opens without errors and asks for nothing else', async () => {
  const page = await browser.open(html);
  assert.deepEqual(page.problems, []);
  assert.equal(page.requests.filter((url) => !url.startsWith('data:')).length, 1);
  assert.match(await text(page, '.program'), /train --steps 24/);
  assert.match(await text(page, '.figures'), /peak\s+24\.0 MiB/);
  assert.match(await shown(page), /from 0 ns to 2\.38 ms by category, at most 24\.0 MiB/);
  await page.close();
});

test('wheel, drag and keys move the window', async () => {
  const page = await browser.open(html);
  const whole = await shown(page);
  await page.locator('.timeline-canvas').hover({ position: { x: 400, y: 100 } });
  await page.mouse.wheel(0, -400);
  await settled(page);
  const zoomed = await shown(page);
  assert.notEqual(zoomed, whole);
  await page.mouse.down();
  await page.mouse.move(300, 200, { steps: 4 });
  await page.mouse.up();
  await settled(page);
  const moved = await shown(page);
  assert.notEqual(moved, zoomed);
  await press(page, '0');
  assert.equal(await shown(page), whole);
  await press(page, '+', '+');
  assert.notEqual(await shown(page), whole);
  await press(page, 'ArrowLeft', '-', '-');
  assert.equal(await shown(page), whole);

  await page.keyboard.down('Shift');
  await page.mouse.move(200, 200);
  await page.mouse.down();
  await page.mouse.move(300, 200, { steps: 4 });
  await page.mouse.up();
  await page.keyboard.up('Shift');
  await settled(page);
  assert.match(await shown(page), /from 336 µs to 598 µs/);
  await page.locator('.timeline-canvas').dblclick({ position: { x: 500, y: 100 } });
  await settled(page);
  assert.match(await shown(page), /from 0 ns to 2\.38 ms/);
  await page.close();
});

test('hover tells the levels, a click chooses the moment and the tensor', async () => {
  const page = await browser.open(html);
  await page.locator('.timeline-canvas').hover({ position: { x: 600, y: 200 } });
  assert.match(await text(page, '.tooltip'), /live[\s\S]*parameter/);
  assert.match(await text(page, '.moment'), /At the peak/);
  await page.locator('.timeline-canvas').click({ position: { x: 600, y: 230 } });
  await settled(page);
  assert.match(await text(page, '.moment'), /At the cursor/);
  assert.match(await text(page, '.tensor'), /block\d\.w\d[\s\S]*float32\[512, 512\]/);
  await press(page, 'Escape');
  await page.locator('.legend-row').first().click();
  await settled(page);
  assert.match(await text(page, '.tensor'), /Largest\s+12 live/);
  await press(page, 'p');
  assert.match(await text(page, '.moment'), /At the peak/);
  await page.close();
});

test('a tensor shows what is known of it', async () => {
  const page = await browser.open(html);
  await press(page, 'Escape');
  await page.getByRole('button', { name: /block0\.w0/ }).click();
  await settled(page);
  const details = await text(page, '.tensor');
  for (const fact of ['float32[512, 512]', 'parameter', 'model/block0/attention',
    'by uniform', 'src/model/attention.cpp:30', 'never: live at the end', 'user, made by uniform at train.cpp:40']) {
    assert.ok(details.includes(fact), `${fact} in ${details}`);
  }
  await page.getByRole('button', { name: 'all of this line' }).click();
  await settled(page);
  assert.match(await text(page, '.panel-controls'), /6 of 1,534/);
  await page.close();
});

test('calls make the flame graph, and a tensor names who called', async () => {
  const strings = [...small.header.strings, 'main at train.cpp:60\nstep at train.cpp:41', 'main at train.cpp:60'];
  const calls = Uint32Array.from(small.columns.bytes, (_, i) => strings.length - 1 - (i % 2));
  const page = await browser.open(makePage({ ...small.header, strings }, { ...small.columns, calls }));
  const flame = () => page.locator('.flame-canvas').getAttribute('aria-label');
  assert.match(await flame(), /by calls and line; main at train\.cpp:60/);
  await page.getByRole('button', { name: 'by scope' }).click();
  await settled(page);
  assert.match(await flame(), /by scope and line; model/);
  await press(page, 'Escape');
  await page.getByRole('button', { name: /block0\.w0/ }).click();
  await settled(page);
  assert.match(await text(page, '.tensor'), /called by\s+(step at train\.cpp:41\s+)?main at train\.cpp:60/);
  assert.deepEqual(page.problems, []);
  await page.close();

  const without = await browser.open(html);
  assert.equal(await without.getByRole('button', { name: 'by calls' }).isVisible(), false);
  await without.close();
});

test('tables sort and filter', async () => {
  const page = await browser.open(html);
  await press(page, '3');
  const cells = async (column) => page.locator('.table-row').evaluateAll((rows, index) =>
    rows.map((row) => row.children[index].textContent), column);
  assert.equal((await cells(2))[0], '1.39 MiB');
  await page.getByRole('columnheader', { name: 'bytes' }).getByRole('button').click();
  await settled(page);
  assert.equal((await cells(2))[0], '38.5 KiB');
  assert.equal(await page.getByRole('columnheader', { name: 'bytes' }).getAttribute('aria-sort'), 'ascending');
  await page.getByRole('columnheader', { name: 'op', exact: true }).getByRole('button').click();
  await settled(page);
  assert.equal((await cells(0))[0], 'add');

  await press(page, '/');
  await page.keyboard.type('layer_norm block2');
  await settled(page);
  const ops = await cells(0);
  assert.ok(ops.length > 5 && ops.every((op) => op === 'layer_norm'), String(ops));
  await press(page, 'Escape', 'Escape');
  await page.getByRole('button', { name: 'never disposed', exact: true }).click();
  await settled(page);
  assert.match(await text(page, '.panel-controls'), /46 of 1,534/);
  await page.locator('.table-body').focus();
  await press(page, 'ArrowDown', 'ArrowDown', 'Enter');
  assert.equal(await page.locator('.table-row[aria-selected=true]').count(), 1);

  await press(page, '5');
  await page.getByRole('row', { name: /softmax/ }).click();
  await settled(page);
  assert.match(await text(page, '.chip'), /softmax/);
  await page.close();
});

test('growth and plans are told', async () => {
  const page = await browser.open(html);
  assert.match(await text(page, '.figures'), /per step\s+\+48 KiB/);
  await press(page, '7');
  assert.match(await text(page, '.growth-list'), /\+48 KiB a step[\s\S]*sum\s+src\/train\.cpp:48/);
  await press(page, '8');
  assert.match(await text(page, '.plan-list'), /as predicted in 24 runs[\s\S]*\+4 KiB against the plan/);
  await page.locator('.map-canvas').hover({ position: await lowest(page, 100) });
  assert.match(await text(page, '.tooltip'), /matmul\s+bytes/);
  await page.close();
});

test('a leak that starts late says when, where and by whom it is held', async () => {
  const made = synthesize();
  const [grown] = made.header.growth;
  Object.assign(grown, { loop: 'train', marked: true, what: '', since_step: 12, since_ns: made.header.steps[10].t, bytes: 624 * 1024,
    number: 13, holders: [{ kind: 'view', site: 3, op: 6, storages: 13 }] });
  made.header.judgement = ['train grows 48 KiB a step at train.cpp:48, held by transpose at attention.cpp:30, since step 12'];
  const page = await browser.open(makePage(made.header, made.columns));
  await press(page, '7');
  assert.match(await text(page, '.panel-controls'), /train grows 48 KiB a step at train\.cpp:48, held by transpose/);
  assert.match(await text(page, '.growth-list'), /since step 12 of 22[\s\S]*held by[\s\S]*transpose\s+src\/model\/attention\.cpp:30[\s\S]*13 of its storages/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('without step marks growth is told over time', async () => {
  const made = synthesize();
  made.header.steps = [];
  made.header.moments = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => (i * made.header.duration_ns) / 8);
  Object.assign(made.header.growth[0], { loop: '', marked: false, what: '', since_ns: made.header.duration_ns / 4, bytes: 2 ** 20, number: 22 });
  const page = await browser.open(makePage(made.header, made.columns));
  assert.match(await text(page, '.figures'), /over time\s+\+1 MiB/);
  await press(page, '7');
  assert.match(await text(page, '.growth-list'), /\+1 MiB[\s\S]*22 more since/);
  assert.match(await page.locator('.growth-canvas').getAttribute('aria-label'), /Change of live bytes/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('a refusal is marked on the timeline, with its requester, its holders and its budget', async () => {
  const page = await browser.open(html);
  assert.match(await text(page, '.figures'), /refused\s+1/);
  const box = await page.locator('.timeline-canvas').boundingBox();
  const x = 72 + (box.width - 84) * 0.4;
  await page.locator('.timeline-canvas').hover({ position: { x, y: 15 } });
  assert.match(await text(page, '.tooltip'), /32 MiB refused by budget training[\s\S]*asked by softmax\s+attention\.cpp:39[\s\S]*held by uniform\s+attention\.cpp:30/);
  await page.locator('.timeline-canvas').click({ position: { x, y: 15 } });
  await settled(page);
  assert.match(await text(page, '.refusals'), /32 MiB refused by budget training, which held 16 MiB[\s\S]*asked by softmax/);
  assert.match(await text(page, '.limits'), /training[\s\S]*at most 16 MiB of 32 MiB[\s\S]*1 refused/);
  assert.match(await page.locator('.limits-canvas').getAttribute('aria-label'), /Budget training: at most 16 MiB of 32 MiB charged/);
  await page.locator('.refusal-holders button').click();
  await settled(page);
  assert.match(await text(page, '.chip'), /uniform/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('the segments of the pool say how full they are, and of what', async () => {
  const page = await browser.open(html);
  await page.locator('[data-tab=pool]').click();
  await settled(page);
  assert.match(await text(page, '.pool-text'), /1 segments, .* from the system, .* free, fragmentation \d+ %/);
  assert.match(await page.locator('.pool-canvas').getAttribute('aria-label'), /1 segments of the pool at the cursor/);
  await page.locator('.pool-canvas').click({ position: { x: 192, y: 16 } });
  await settled(page);
  assert.match(await text(page, '.tensor'), /block0\.w0/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('of several devices one can be looked at alone', async () => {
  const made = synthesize();
  made.header.devices = ['cpu', 'cuda:0'];
  made.header.outside = [{ device: 1, total: 2 ** 34, t_ns: [0], bytes: [2 ** 29] }];
  made.header.segments.push({ ...made.header.segments[0], device: 1 });
  made.columns.device = Uint8Array.from(made.columns.bytes, (_, row) => row % 2);
  const page = await browser.open(makePage(made.header, made.columns), { hash: '#tab=pool' });
  const choose = async (device) => {
    await page.locator(`[data-option="${device}"]`).click();
    await page.waitForSelector(`[data-option="${device}"][aria-pressed=true]`);
    await settled(page);
  };
  const all = await text(page, '.figures');
  assert.match(await text(page, '.pool-text'), /2 segments,.* outside of it 512 MiB of the 16 GiB of cuda:0/);
  await choose('cuda:0');
  assert.notEqual(await text(page, '.figures'), all);
  assert.match(await text(page, '.pool-text'), /1 segments,.* outside of it 512 MiB/);
  await press(page, '3');
  await page.waitForFunction(() => location.hash === '#device=cuda%3A0&tab=tensors');
  await choose('cpu');
  await page.locator('[data-tab=pool]').click();
  await settled(page);
  assert.doesNotMatch(await text(page, '.pool-text'), /outside/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('who shares a storage is said, and a view leads to what it shares', async () => {
  const page = await browser.open(html);
  await press(page, '3');
  await press(page, '/'); // where that tab is there
  await page.keyboard.type('block0.w1');
  await settled(page);
  await page.locator('.table-row').first().click();
  await settled(page);
  assert.match(await text(page, '.holder-list'), /user[\s\S]*holds it at the end[\s\S]*view\s*transpose[\s\S]*until/);
  await page.locator('.holder-row').nth(1).click();
  await settled(page);
  assert.match(await text(page, '.panel-controls'), /1 of 1,534/);
  assert.match(await page.locator('.table-row').first().innerText(), /block0\.w1/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('the map tells and chooses storages', async () => {
  const page = await browser.open(html);
  await press(page, '2');
  await page.locator('.map-canvas').click({ position: await lowest(page, 600) });
  await settled(page);
  assert.match(await text(page, '.tensor'), /block0\.w0/);
  await page.close();
});

test('the flame graph opens parts and lists lines', async () => {
  const page = await browser.open(html);
  const canvas = page.locator('.flame-canvas');
  await canvas.click({ position: { x: 60, y: 60 } });
  await settled(page);
  assert.match(await text(page, '.crumbs'), /all\s*model\s*block\d/);
  await canvas.click({ position: { x: 60, y: 60 } });
  await settled(page);
  assert.match(await text(page, '.chip'), /\.cpp:\d+/);

  await press(page, '1');
  await page.locator('.crumbs button').first().click();
  await page.mouse.move(0, 0); // else it lies on the graph once the path above is gone
  await settled(page);
  await canvas.focus();
  await press(page, 'ArrowDown', 'ArrowDown', 'ArrowRight');
  assert.match(await canvas.getAttribute('aria-label'), /block\d: \d/);
  await press(page, 'Enter');
  assert.match(await text(page, '.crumbs'), /all\s*model\s*block\d/);
  await press(page, 'Backspace', 'Backspace');
  assert.ok(await page.locator('.crumbs').isHidden());
  await page.close();
});

test('follows the scheme of the reader until told otherwise', async () => {
  const page = await browser.open(html, { colorScheme: 'dark' });
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  assert.equal(await theme(), 'dark');
  await press(page, 't');
  assert.equal(await theme(), 'light');
  await page.getByRole('button', { name: 'Use the dark theme' }).click();
  await settled(page);
  assert.equal(await theme(), 'dark');
  await page.close();
});

test('everything that can be used has a name, and help opens', async () => {
  const page = await browser.open(html);
  for (const tab of ['1', '2', '3', '4', '5', '6', '7', '8', '9']) {
    await press(page, tab);
    const nameless = await page.locator('button, canvas, input').evaluateAll((elements) => elements
      .filter((each) => !(each.getAttribute('aria-label') || each.textContent.trim() || each.title))
      .map((each) => each.outerHTML));
    assert.deepEqual(nameless, [], `tab ${tab}`);
  }
  await press(page, '?');
  assert.ok(await page.getByRole('dialog').isVisible());
  await press(page, 'Escape');
  assert.ok(!(await page.getByRole('dialog').isVisible()));
  await press(page, 'g', 'n', 'N', 'G');
  assert.deepEqual(page.problems, []);
  await page.close();
});
