// A page that the tenure command made of a recording of itself; TENURE_COMMAND says where it is.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';

const command = process.env.TENURE_COMMAND;
const skip = command ? false : 'TENURE_COMMAND is not set';
let browser;
before(async () => { if (command) browser = await Browser.start(); });
after(() => browser?.stop());

test('the page of a real recording says what the command says', { skip }, async () => {
  const recording = join(browser.folder, 'demo.tenure');
  const file = join(browser.folder, 'demo.html');
  const run = (...options) => execFileSync(command, options, { encoding: 'utf8', timeout: 300_000 });
  run('profile', '-o', recording, '--', command, 'demo');
  run('report', recording, '-o', file);
  const top = JSON.parse(run('top', recording, '--json'));

  const page = await browser.open(readFileSync(file, 'utf8'));
  assert.deepEqual(page.problems, []);
  const number = (value) => value.toLocaleString('en-US');
  const titles = await page.locator('.figure').evaluateAll((all) => all.map((each) => each.title));
  assert.equal(titles[0], `${number(top.peak_bytes)} bytes`);
  assert.equal(titles[1], `${number(top.live_at_end_bytes)} bytes`);
  assert.match(await page.locator('.figures').innerText(), new RegExp(`allocations\\s+${number(top.storages)}`));
  for (const tab of ['1', '2', '3', '4', '5', '6', '7', '8', '9']) {
    await page.keyboard.press(tab);
    await settled(page);
  }
  await page.keyboard.press('5');
  await settled(page);
  const ops = await page.locator('.table-row').evaluateAll((rows) => rows.map((row) => row.firstChild.textContent));
  for (const { name } of top.peak.op.filter((op) => op.name !== 'unknown')) assert.ok(ops.includes(name), name);
  assert.deepEqual(page.problems, []);
  await page.close();
});

test('two real recordings make one page', { skip }, async () => {
  const run = (...options) => execFileSync(command, options, { encoding: 'utf8', timeout: 300_000 });
  const recordings = ['dispose', 'fit'].map((name) => {
    const file = join(browser.folder, `${name}.tenure`);
    run('profile', '-o', file, '--', command, 'demo', name);
    return file;
  });
  assert.match(run('report', '--diff', ...recordings), /fit\.diff\.html/);
  const difference = JSON.parse(run('diff', ...recordings, '--by', 'op', '--json'));
  const page = await browser.open(readFileSync(join(browser.folder, 'fit.diff.html'), 'utf8'));
  assert.deepEqual(page.problems, []);
  assert.equal(await page.locator('.timeline-canvas').count(), 2);
  await page.getByLabel('Compare by').getByRole('button', { name: 'op', exact: true }).click();
  await settled(page);
  const most = await page.locator('.table-row').first().evaluate((row) => row.children[1].textContent);
  const bytes = Math.max(...difference.changes.map(({ peak_bytes: [before, after] }) => Math.abs(after - before)));
  assert.match(most, new RegExp(`${Math.round(bytes / 1024)}(\\.\\d+)? KiB`));
  await page.close();
});

test('ops of a real recording have times', { skip }, async () => {
  const file = join(browser.folder, 'times.html');
  const run = (...options) => execFileSync(command, options, { encoding: 'utf8', timeout: 300_000 });
  const recording = join(browser.folder, 'times.tenure');
  run('profile', '-o', recording, '--', command, 'demo', 'symbolic', 'disposed');
  run('report', recording, '-o', file);
  const page = await browser.open(readFileSync(file, 'utf8'), { hash: '#tab=ops' });
  const matmul = page.getByRole('row', { name: /^matmul/ });
  assert.match(await matmul.innerText(), /\d (ns|\u00b5s|ms|s)/);
  await page.keyboard.press('9');
  await settled(page);
  assert.match(await page.locator('.endings').innerText(), /used again, which failed\s+times[\s\S]*demo\.cpp:\d+/);
  await page.close();
});
