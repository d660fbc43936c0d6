// How the page looks, compared loosely: the mean colours of a coarse grid over a screenshot, so that
// fonts and single pixels do not matter. `UPDATE=1 npm test look` writes what it sees.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';
import { makePage } from '../page.mjs';
import { synthesize } from '../synthetic.mjs';

const COLUMNS = 32;
const ROWS = 20;
const expected = new URL('../expected/', import.meta.url);
let browser;
let reader;
const small = synthesize();
const html = makePage(small.header, small.columns);
before(async () => {
  browser = await Browser.start();
  reader = await browser.chromium.newPage();
});
after(() => browser.stop());

/** Mean colours, as rows of hexadecimal cells. */
async function gridOf(page) {
  const png = (await page.screenshot()).toString('base64');
  return reader.evaluate(async ([data, columns, rows]) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [image.width, image.height];
    const context = canvas.getContext('2d');
    context.drawImage(image, 0, 0);
    const lines = [];
    for (let y = 0; y < rows; y++) {
      let line = '';
      for (let x = 0; x < columns; x++) {
        const width = image.width / columns;
        const height = image.height / rows;
        const { data: pixels } = context.getImageData(x * width, y * height, width, height);
        const sum = [0, 0, 0];
        for (let i = 0; i < pixels.length; i++) if (i % 4 < 3) sum[i % 4] += pixels[i];
        line += sum.map((each) => Math.round(each / (pixels.length / 4)).toString(16).padStart(2, '0')).join('');
      }
      lines.push(line);
    }
    return lines;
  }, [png, COLUMNS, ROWS]);
}

function differences(a, b) {
  const bytes = (grid) => Buffer.from(grid.join(''), 'hex');
  const [left, right] = [bytes(a), bytes(b)];
  assert.equal(left.length, right.length);
  return left.map((value, i) => Math.abs(value - right[i]));
}

for (const colorScheme of ['light', 'dark']) {
  let page;
  test(`opens, ${colorScheme}`, async () => { page = await browser.open(html, { colorScheme }); });
  for (const [tab, key] of [['flame', '1'], ['map', '2'], ['tensors', '3'], ['growth', '7'], ['plans', '8']]) {
    test(`${tab}, ${colorScheme}`, async () => {
      await page.keyboard.press(key);
      await settled(page);
      const grid = await gridOf(page);
      const file = new URL(`${tab}-${colorScheme}.txt`, expected);
      if (process.env.UPDATE) {
        mkdirSync(expected, { recursive: true });
        writeFileSync(file, `${grid.join('\n')}\n`);
      }
      const off = differences(grid, readFileSync(file, 'utf8').trim().split('\n'));
      const mean = off.reduce((sum, each) => sum + each, 0) / off.length;
      const far = off.filter((each) => each > 48).length / off.length;
      assert.ok(mean < 6 && far < 0.03, `mean difference ${mean.toFixed(1)}, far off ${(100 * far).toFixed(1)} %`);
    });
  }
}
