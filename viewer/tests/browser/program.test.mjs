// The page of a compiled training; TENURE_COMMAND and TENURE_PROGRAM say where command and program are.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';

const command = process.env.TENURE_COMMAND;
const program = process.env.TENURE_PROGRAM;
const skip = command && program ? false : 'TENURE_COMMAND or TENURE_PROGRAM is not set';
let browser;
let html;
let top;
let tight; // of one that computes something twice
let tightTop;
let loop; // of a program with a loop and a branch in it
let loopTop;
before(async () => {
  if (skip) return;
  browser = await Browser.start();
  const recording = join(browser.folder, 'train.tenure');
  const file = join(browser.folder, 'train.html');
  const run = (...options) => execFileSync(command, options, { encoding: 'utf8', timeout: 300_000 });
  run('profile', '-o', recording, '--', program, 'train');
  run('report', recording, '-o', file);
  html = readFileSync(file, 'utf8');
  top = JSON.parse(run('top', recording, '--steps', '--json'));
  const budgeted = join(browser.folder, 'tight.tenure');
  const tightPage = join(browser.folder, 'tight.html');
  run('profile', '-o', budgeted, '--', program, 'tight');
  run('report', budgeted, '-o', tightPage);
  tight = readFileSync(tightPage, 'utf8');
  tightTop = JSON.parse(run('top', budgeted, '--steps', '--json'));
  const looped = join(browser.folder, 'loop.tenure');
  const page = join(browser.folder, 'loop.html');
  run('profile', '-o', looped, '--', program, 'loop');
  run('report', looped, '-o', page);
  loop = readFileSync(page, 'utf8');
  loopTop = JSON.parse(run('top', looped, '--steps', '--json'));
});
after(() => browser?.stop());

const rowsOf = (page) => page.locator('.table-row').evaluateAll((rows) => rows.map((row) => row.innerText));

test('at the peak the timeline and the flame graph have layers', { skip }, async () => {
  const page = await browser.open(html, { hash: '#by=scope' });
  assert.deepEqual(page.problems, []);
  const legend = await page.locator('.legend').innerText();
  assert.match(legend, /hidden/);
  await page.getByLabel('Stack by').getByRole('button', { name: 'category' }).click();
  await settled(page);
  assert.match(await page.locator('.legend').innerText(), /saved for backward/);
  assert.doesNotMatch(await page.locator('.largest').innerText(), /training step/);
  await page.close();
});

test('a buffer says its program, steps, layer and line', { skip }, async () => {
  const page = await browser.open(html, { hash: '#tab=tensors' });
  await page.getByLabel('Filter by text').fill('saved hidden');
  await settled(page);
  await page.locator('.table-row').first().click();
  await settled(page);
  const details = await page.locator('.tensor').innerText();
  assert.match(details, /training step at program\.cpp:\d+, steps \d+ to \d+/);
  assert.match(details, /saved for backward/);
  assert.match(details, /hidden/);
  assert.match(details, /small_net\.h:\d+/);
  await page.close();
});

test('what is saved for backward is told by layer', { skip }, async () => {
  const page = await browser.open(html, { hash: '#tab=plans' });
  await page.getByRole('button', { name: 'saved for backward' }).first().click();
  await settled(page);
  const rows = await rowsOf(page);
  assert.equal(rows.length, top.plans[0].saved.length);
  assert.match(rows[0], new RegExp(`^${top.plans[0].saved[0].scope || '\\(no scope\\)'}`));
  await page.locator('.table-row').first().click();
  await settled(page);
  assert.match(await page.locator('[data-tab=tensors]').getAttribute('aria-selected'), /true/);
  await page.close();
});

test('steps are predicted beside measured', { skip }, async () => {
  const page = await browser.open(html, { hash: '#tab=plans&show=steps', width: 1500 });
  const heads = await page.locator('.table-head').first().innerText();
  assert.match(heads, /predicted[\s\S]*measured/);
  const rows = await rowsOf(page);
  assert.match(rows[0], /^0\s/);
  const { op, scope } = top.plans[0].steps[0].origin;
  assert.ok(rows[0].includes(op) && rows[0].includes(scope || '(no scope)'));
  await page.close();
});

test('less memory has a price, one click away, and the arena shows what is computed twice', { skip }, async () => {
  const page = await browser.open(html, { hash: '#tab=plans&show=what+if' });
  const budgets = page.getByLabel('Part of the peak');
  await budgets.getByRole('button', { name: /^80 %/ }).click();
  await settled(page);
  assert.match(await page.locator('.what-if').innerText(), /At 80 %|does not suffice/);
  await budgets.getByRole('button', { name: /^30 %/ }).click();
  await settled(page);
  assert.match(await page.locator('.what-if').innerText(), /once|times/);
  assert.match(await page.locator('.what-if').innerText(), /small_net\.h:\d+/);
  await page.getByRole('button', { name: 'arena', exact: true }).click();
  await settled(page);
  assert.match(await page.locator('.map-canvas').getAttribute('aria-label'), /Arena of training step/);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('what 60 % of the peak would cost is one click from where the page opens', { skip }, async () => {
  const page = await browser.open(html);
  await page.locator('.figure', { hasText: 'at 60 %' }).click();
  await settled(page);
  const said = await page.locator('.what-if').innerText();
  assert.match(said, /At 60 %|does not suffice/);
  assert.match(said, /once|times|a better order is enough/);
  assert.match(await page.getByLabel('Part of the peak').locator('[aria-pressed=true]').innerText(), /^60 %/);
  await page.close();
});

test('what is computed twice is marked in the arena, in the list of steps, and where a tensor is told', { skip }, async () => {
  const twice = tightTop.plans[0].buffers.filter(({ again }) => again);
  assert.ok(twice.length > 0);
  const page = await browser.open(tight, { hash: '#tab=plans&show=steps', width: 1500 });
  const rows = await rowsOf(page);
  assert.equal(rows.filter((row) => /again: /.test(row)).length, tightTop.plans[0].steps.filter(({ again }) => again).length);
  await page.getByRole('button', { name: 'arena', exact: true }).click();
  await settled(page);
  const said = await page.locator('.plans canvas').evaluate((canvas) => {
    const { left, top, width, height } = canvas.getBoundingClientRect();
    const texts = new Set();
    for (let x = 4; x < width; x += 12) {
      for (let y = 4; y < height; y += 12) {
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + x, clientY: top + y }));
        texts.add(document.querySelector('.tooltip').innerText);
      }
    }
    return [...texts];
  });
  assert.ok(said.some((text) => /computed\s+again/.test(text) && text.includes(twice[0].origin.op)), said.join('\n--\n'));
  await page.locator('[data-tab=tensors]').click();
  await page.getByRole('button', { name: 'made again' }).click();
  await settled(page);
  await page.locator('.table-row').first().click();
  await settled(page);
  assert.match(await page.locator('.tensor').innerText(), /again: an earlier step has made the same/);
  await page.close();
});

test('budgets that are alike are one, with what all of them refused', { skip }, async () => {
  const recording = join(browser.folder, 'budgets.tenure');
  const file = join(browser.folder, 'budgets.html');
  for (const options of [['profile', '-o', recording, '--', program, 'budgets'], ['report', recording, '-o', file]]) {
    execFileSync(command, options, { timeout: 300_000 });
  }
  const page = await browser.open(readFileSync(file, 'utf8'), { hash: '#tab=limits' });
  assert.deepEqual(page.problems, []);
  const rows = await page.getByLabel('Budgets').getByRole('option').allInnerTexts();
  assert.equal(rows.length, 1);
  assert.match(rows[0], /^20 x request[\s\S]*at most 32 KiB of 64 KiB[\s\S]*20 refused/);
  await page.close();
});

test('steps have their lines in any width', { skip }, async () => {
  for (const width of [1280, 900, 700]) {
    const page = await browser.open(html, { hash: '#tab=plans&show=steps', width });
    const seen = await page.locator('.plans .place-line').evaluateAll((all) => all.map((each) =>
      each.getBoundingClientRect().right <= each.closest('.table-body').getBoundingClientRect().right + 0.5));
    assert.ok(seen.length > 0 && seen.every(Boolean), `${width}: ${seen}`);
    await page.close();
  }
});

test('what is inside of loops and branches is in the picture of the arena and in the list of steps', { skip }, async () => {
  const [plan] = loopTop.plans;
  const narrow = plan.buffers.filter(({ inside }) => inside === 'else branch in loop body');
  assert.ok(narrow.length > 0 && narrow.every(({ steps }) => /^\d+\.\d+\.\d+/.test(steps)));
  const page = await browser.open(loop, { hash: '#tab=plans&show=steps', width: 1500 });
  assert.deepEqual(page.problems, []);
  const rows = await rowsOf(page);
  assert.equal(rows.length, plan.steps.length + plan.inner_steps.length);
  const inner = rows.find((row) => row.includes('(then branch in loop body)'));
  assert.match(inner, /^\d+\.\d+\.\d+\s/);
  assert.match(inner, /outer\/cell/);
  await page.getByRole('button', { name: 'arena', exact: true }).click();
  await settled(page);
  const picture = page.locator('.plans canvas');
  assert.match(await picture.getAttribute('aria-label'), new RegExp(`with ${plan.buffers.length} buffers`));
  const seen = new Set(await picture.evaluate((canvas) => {
    const said = [];
    const { left, top, width, height } = canvas.getBoundingClientRect();
    for (let x = 4; x < width; x += 12) {
      for (let y = 4; y < height; y += 12) {
        canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + x, clientY: top + y }));
        const text = document.querySelector('.tooltip').innerText;
        if (/float32\[/.test(text)) said.push(/inside\s+(.*)/.exec(text)?.[1] ?? '');
      }
    }
    return said;
  }));
  assert.ok(seen.has('then branch in loop body') && seen.has('else branch in loop body'), [...seen].join());
  await page.close();
});

test('in time a loop is shown as at its fullest moment', { skip }, async () => {
  const page = await browser.open(loop, { hash: '#by=scope' });
  assert.match(await page.locator('.legend').innerText(), /wide/);
  await page.locator('[data-tab=tensors]').click();
  await page.getByLabel('Filter by text').fill('wide');
  await settled(page);
  await page.locator('.table-row').first().click();
  await settled(page);
  assert.match(await page.locator('.tensor').innerText(), /steps \d+\.\d+\.\d+.*, then branch in loop body/);
  await page.close();
});
