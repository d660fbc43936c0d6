// The search of the documentation's site, in the browser that the report page is tested in.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Browser } from '../browser.mjs';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const hasTools = ['cmark-gfm', 'python3'].every((tool) => spawnSync(tool, ['--version']).status === 0);
const skip = hasTools ? false : 'there is no cmark-gfm or no python3';
let browser;
let site;
before(async () => {
  if (skip) return;
  browser = await Browser.start();
  site = join(browser.folder, 'site');
  const made = spawnSync('python3', [join(root, 'tools/site_pages.py'), root, site], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
});
after(() => browser?.stop());

async function found(page, text) {
  await page.keyboard.press('/');
  await page.locator('#search').fill(text);
  await page.waitForFunction(() => document.querySelector('#found').children.length > 0);
  return page.locator('.hit').evaluateAll((all) => all.map((link) => ({ name: link.firstChild.textContent, href: link.getAttribute('href') })));
}

test('users of Python find their pages', { skip }, async () => {
  const page = await browser.chromium.newPage();
  await page.goto(pathToFileURL(join(site, 'index.html')).href);
  for (const [words, address] of [
    ['requires_grad', /python\/pytorch\.html/], ['vmap', /python\/jax\.html/], ['keras compile fit', /python\/tensorflow\.html/],
    ['numpy linalg', /python\/numpy\.html/], ['notebooks', /python\.html#notebooks/],
  ]) {
    const hits = await found(page, words);
    assert.ok(hits.some(({ href }) => address.test(href)), `${words}: ${JSON.stringify(hits.slice(0, 3))}`);
    await page.keyboard.press('Escape');
  }
  await page.close();
});

test('every page finds sections by their words, and goes there', { skip }, async () => {
  for (const path of ['index.html', 'questions/dispose.html']) {
    const page = await browser.chromium.newPage();
    const problems = [];
    page.on('pageerror', (error) => problems.push(error.message));
    await page.goto(pathToFileURL(join(site, path)).href);
    const [first] = await found(page, 'exit status');
    assert.equal(first.name, 'Exit status');
    assert.match(first.href, /command-line\.html#exit-status$/);
    await page.keyboard.press('Enter');
    await page.waitForURL(/command-line\.html#exit-status$/);
    assert.match(await page.title(), /The tenure command/);
    await found(page, 'zzzz no such word');
    assert.match(await page.locator('#found').innerText(), /No page has all of these words/);
    assert.ok((await found(page, 'leakguard fit')).length > 0);
    await page.keyboard.press('ArrowDown');
    assert.equal(await page.locator('.hit').nth(1).getAttribute('aria-selected'), 'true');
    await page.keyboard.press('Escape');
    assert.ok(await page.locator('#found').isHidden());
    assert.deepEqual(problems, []);
    await page.close();
  }
});
