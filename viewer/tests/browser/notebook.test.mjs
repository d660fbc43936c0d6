// What notebooks show of Python's objects; TENURE_PYTHON_PATH says where the package is.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { Browser, settled } from '../browser.mjs';

const packages = process.env.TENURE_PYTHON_PATH;
const skip = packages ? false : 'TENURE_PYTHON_PATH is not set';
let browser;
before(async () => { if (packages) browser = await Browser.start(); });
after(() => browser?.stop());

/** The cells that a program of Python's shows, one after the other, in a page of a notebook's colours. */
async function cells(program, colorScheme) {
  const python = spawnSync(process.env.TENURE_PYTHON ?? 'python3', ['-B', '-c', program],
    { encoding: 'utf8', cwd: browser.folder, env: { ...process.env, PYTHONPATH: packages } });
  assert.equal(python.status, 0, python.stderr);
  const file = join(browser.folder, `cells-${colorScheme}.html`);
  const colors = colorScheme === 'dark' ? '#111;color:#ddd' : '#fff;color:#222';
  writeFileSync(file, `<!doctype html><meta charset="utf-8"><body style="background:${colors}">${python.stdout}</body>`);
  const page = await browser.chromium.newPage({ viewport: { width: 1100, height: 900 }, colorScheme });
  page.problems = [];
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('console', (message) => { if (message.type() === 'error') page.problems.push(message.text()); });
  await page.goto(pathToFileURL(file).href);
  return page;
}

const everything = `
import tenure as tn
with tn.profile("cell.tenure") as run:
    x = tn.ones((64, 64)); x.name = '<img src=x onerror="throw 1">'
    y = tn.tanh(x @ x)
net = tn.nn.Sequential(tn.nn.Dense(4, 2))
for shown in (x, tn.memory(), tn.holders(x), net, tn.function(lambda x: x @ x).plan(x), run):
    print(shown._repr_html_())
`;

for (const colorScheme of ['light', 'dark']) {
  test(`the report page works within a cell, ${colorScheme}`, { skip }, async () => {
    const page = await cells(everything, colorScheme);
    await page.locator('iframe').scrollIntoViewIfNeeded();
    const report = page.frameLocator('iframe');
    await report.locator('.timeline-canvas').waitFor();
    await report.locator('.figure').first().click();
    for (const tab of ['1', '2', '5']) {
      await report.locator('body').press(tab);
      await settled(page);
    }
    await page.waitForTimeout(600); // elsewhere the page now writes its state into its address
    assert.match(await report.locator('.figures').innerText(), /peak/i);
    assert.deepEqual(page.problems, []);
    assert.equal(await page.locator('img').count(), 0);
    // Text has the colour of the notebook around it.
    const own = await page.locator('pre').first().evaluate((element) => getComputedStyle(element).color);
    assert.equal(own, await page.evaluate(() => getComputedStyle(document.body).color));
    await page.close();
  });
}
