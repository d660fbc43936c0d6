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
  for (const tab of ['1', '2', '3', '4', '5', '6', '7', '8']) {
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
