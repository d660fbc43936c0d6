// What a reader of the page trips over: texts on texts, a box that stays, columns beside their heads,
// lines without their numbers.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';
import { overprinted, textsOf, watchTexts } from '../drawn.mjs';
import { makePage } from '../page.mjs';
import { synthesize } from '../synthetic.mjs';

let browser;
const small = synthesize();
const html = makePage(small.header, small.columns);
const WIDTHS = [1280, 900];
before(async () => { browser = await Browser.start(); });
after(() => browser.stop());

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
  await settled(page);
}

test('no text of a drawing lies on another', async () => {
  const { header, columns } = synthesize({ steps: 40 });
  const peak = 24 * 2 ** 20;
  const crowded = {
    ...header,
    steps: header.steps.map(({ t }) => ({ t, name: 'an epoch of the fine tuning' })),
    budgets: [0.9, 0.9, 0.91, 0.92, 0.5, 0.505, 0.98].map((share, i) => ({ name: `request ${i % 3}`, limit: share * peak })),
    pool: { ...header.pool, reserved: [peak * 0.89, peak * 0.89, peak * 0.89] },
  };
  for (const width of WIDTHS) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await browser.open(makePage(crowded, columns), { width, colorScheme, init: watchTexts });
      for (const keys of [['1'], ['2'], ['7'], ['8'], ['0', 'p', '+', '+', '+'], ['g'], ['n', '+', '+']]) {
        await press(page, ...keys);
        for (const texts of await textsOf(page)) {
          assert.deepEqual(overprinted(texts), [], `${width}, after ${keys.join(' ')}`);
        }
      }
      await page.close();
    }
  }
});

test('the box at the pointer goes with what it tells of', async () => {
  const page = await browser.open(html);
  const isShown = () => page.locator('.tooltip').isVisible();
  const hover = async () => {
    await press(page, '1', 'Escape');
    await page.mouse.move(300, 640);
    await page.locator('.flame-canvas').hover({ position: { x: 60, y: 12 } });
    await settled(page);
    assert.ok(await isShown());
  };
  for (const leave of [
    () => press(page, '3'),
    () => press(page, 'g'),
    () => page.mouse.wheel(0, 100),
    () => page.mouse.move(1200, 500),
    () => page.evaluate(() => window.dispatchEvent(new Event('blur'))),
    () => page.evaluate(() => { location.hash = 'tab=growth'; }),
  ]) {
    await hover();
    await leave();
    await settled(page);
    assert.ok(!(await isShown()), String(leave));
  }
  await hover();
  await page.locator('.flame-canvas').click({ position: { x: 60, y: 84 } }); // a line: lists its tensors
  await settled(page);
  assert.ok(!(await isShown()));
  await page.close();
});

test('heads stand over their columns to the pixel', async () => {
  for (const width of WIDTHS) {
    const page = await browser.open(html, { width });
    for (const tab of ['3', '4', '5', '6']) {
      await press(page, tab);
      const off = await page.locator('.table').evaluate((table) => {
        const edges = (element) => {
          const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
          const range = document.createRange();
          const boxes = [];
          while (texts.nextNode()) {
            range.selectNodeContents(texts.currentNode);
            if (texts.currentNode.data.trim() !== '') boxes.push(range.getBoundingClientRect());
          }
          return boxes.length === 0 ? null : { left: boxes[0].left, right: boxes[boxes.length - 1].right };
        };
        const heads = [...table.querySelectorAll('[role=columnheader]')];
        const wrong = [];
        for (const row of [...table.querySelectorAll('.table-row')].slice(0, 5)) {
          heads.forEach((head, i) => {
            const cell = row.children[i];
            if (cell.scrollWidth > cell.clientWidth) return; // cut: its text ends somewhere beyond
            const [a, b] = [edges(head), edges(cell)];
            if (!a || !b) return;
            const distance = head.classList.contains('right') ? a.right - b.right : a.left - b.left;
            if (Math.abs(distance) > 1) wrong.push(`${head.textContent}: ${distance}`);
          });
        }
        return { wrong, heads: heads.length, rows: table.querySelectorAll('.table-row').length };
      });
      assert.deepEqual(off.wrong, [], `${width}, tab ${tab}`);
      assert.ok(off.heads >= 4 && off.rows > 0);
    }
    await page.close();
  }
});

test('a line of source keeps its number in any width', async () => {
  const long = small.header.sites.map(({ file, line }) => ({ file: file.replace('.cpp', '_of_the_large_language_model.cpp'), line }));
  for (const sites of [small.header.sites, long]) {
    for (const width of [...WIDTHS, 700]) {
      const page = await browser.open(makePage({ ...small.header, sites }, small.columns), { width });
      for (const tab of ['3', '4']) {
        await press(page, tab);
        const seen = await page.locator('.place-line').evaluateAll((all) => all.map((each) => {
          const box = each.getBoundingClientRect();
          const frame = each.closest('.table-body, .side').getBoundingClientRect();
          return /^:\d+$/.test(each.textContent) && box.width > 8 && box.left >= frame.left && box.right <= frame.right + 0.5;
        }));
        assert.ok(seen.length > 10 && seen.every(Boolean), `${width}, tab ${tab}: ${seen.filter((each) => !each).length} of ${seen.length}`);
      }
      await page.close();
    }
  }
});

test('a narrow page cuts no sentence of what grows', async () => {
  const judgement = ['train grows 87.00 KiB a step at src/model/attention_of_the_large_language_model.cpp:84, called by ' +
    'Normalizer::operator() at normalizer.cpp:30, by main at train.cpp:46, held by slice at batch.cpp:23, since step 1001'];
  const growth = small.header.growth.map((each) => ({
    ...each, callers: [`${'a_namespace::'.repeat(12)}function at src/model/attention_of_the_large_language_model.cpp:84`],
  }));
  assert.ok(growth.length > 0);
  for (const width of [...WIDTHS, 700]) {
    const page = await browser.open(makePage({ ...small.header, judgement, growth }, small.columns), { width });
    await press(page, '7');
    const cut = await page.locator('.judgement, .growth-row').evaluateAll((all) => all.filter((each) => {
      const range = document.createRange();
      range.selectNodeContents(each);
      const text = range.getBoundingClientRect();
      const frame = each.closest('.panel-controls, .growth-list').getBoundingClientRect();
      return text.left < frame.left - 0.5 || text.right > frame.right + 0.5 || each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0;
    }).map(({ textContent }) => textContent));
    assert.deepEqual(cut, [], String(width));
    await page.close();
  }
});

test('the legend is ordered by what it tells', async () => {
  const page = await browser.open(html);
  const sizes = () => page.locator('.legend-row .number').evaluateAll((all) => all.map(({ textContent }) => {
    const [value, unit] = textContent.split(' ');
    return Number(value) * 1024 ** ['B', 'KiB', 'MiB', 'GiB'].indexOf(unit);
  }));
  for (const keys of [[], ['g'], ['g'], ['n', 'n'], ['G', 'G', 'p']]) {
    await press(page, ...keys);
    const shown = await sizes();
    assert.ok(shown.length > 1);
    assert.deepEqual(shown, [...shown].sort((a, b) => b - a), `after ${keys.join(' ')}`);
  }
  await page.close();
});

test('without step marks the page says how to make them', async () => {
  const page = await browser.open(makePage({ ...small.header, steps: [], growth: [] }, small.columns), { init: watchTexts });
  await press(page, '7');
  const texts = (await textsOf(page)).flat().map(({ text }) => text).join('\n');
  assert.match(texts, /call mark_step\(\) at the end of each iteration/);
  await page.close();
});

test('what was disposed too early is told, with both lines', async () => {
  const page = await browser.open(html);
  assert.match(await page.locator('.figures').innerText(), /too early\s+2/);
  await page.getByRole('button', { name: /too early/ }).click();
  await settled(page);
  const told = await page.locator('.endings').innerText();
  assert.match(told, /Disposed too early: used again, which failed[\s\S]*2\s+src\/model\/attention\.cpp:84\s+softmax src\/model\/mlp\.cpp:21/);
  assert.match(told, /Disposed while something else held the data[\s\S]*5\s+src\/train\.cpp:75/);
  assert.match(told, /Freed late[\s\S]*src\/data\/batch\.cpp:/);
  await page.close();
  const { misses: _, held: __, ...without } = small.header; // a page of an older command
  const old = await browser.open(makePage(without, small.columns));
  await press(old, '9');
  assert.match(await old.locator('.endings').innerText(), /Nothing was used after its disposal/);
  await old.close();
});

test('what the pool has goes in steps, however many there are', async () => {
  const { header } = small;
  const times = Array.from({ length: 4000 }, (_, i) => (Math.floor(i / 40) * header.duration_ns) / 100 + (i % 40));
  const pool = {
    t_ns: times, reserved: times.map((_, i) => (1 + (i % 17)) * 2 ** 20), cached: times.map(() => 0), fragmentation: times.map(() => 0),
  };
  const page = await browser.open(makePage({ ...header, pool }, small.columns), { init: watchTexts });
  const slanted = await page.locator('.timeline-canvas').evaluate((canvas) => window.slantedOf(canvas));
  assert.deepEqual(slanted, []);
  await page.close();
});
