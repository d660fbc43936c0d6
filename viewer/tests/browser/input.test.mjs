// What the page does with names and data that mean it no good, and with very much of them.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Browser, settled } from '../browser.mjs';
import { builtPage, makePage, pageWith } from '../page.mjs';
import { readFileSync } from 'node:fs';
import { synthesize } from '../synthetic.mjs';

let browser;
const small = synthesize({ steps: 6 });
before(async () => { browser = await Browser.start(); });
after(() => browser.stop());

const HOSTILE = [
  '<img src=x onerror="window.hacked = 1; alert(1)">',
  '</script><script>window.hacked = 1</script>',
  `"'\`><svg onload=alert(1)>`,
  '${alert(1)} {{alert(1)}} javascript:alert(1)',
  'a\u0000b\u0007c\u001b[31md\ne\u202etxt\u2028f',
  '&lt;b&gt; &amp; ]]> <!-- --',
  '\ud83d\ude00 \ud800 \u00e9'.repeat(40),
  '$& $1 $$ @TENURE_REPORT@',
];

test('hostile names stay text, wherever they appear', async () => {
  const name = (i) => HOSTILE[i % HOSTILE.length];
  const header = {
    ...small.header,
    program: HOSTILE.join(' '),
    created: HOSTILE[0],
    strings: small.header.strings.map((text, i) => (i === 0 ? '' : name(i))),
    sites: small.header.sites.map((_, i) => ({ file: name(i), line: i })),
    scopes: small.header.scopes.map((_, i) => (i === 0 ? '' : `${name(i)}/${name(i + 1)}`)),
    ops: small.header.ops.map((_, i) => name(i)),
    categories: small.header.categories.map((_, i) => name(i)),
    dtypes: small.header.dtypes.map((_, i) => name(i)),
    plans: small.header.plans.map((plan) => ({
      ...plan, name: HOSTILE[0], buffers: plan.buffers.map((buffer, i) => ({ ...buffer, op: name(i) })),
    })),
    steps: small.header.steps.map(({ t }) => ({ t, name: HOSTILE[2] })),
    budgets: HOSTILE.map((text) => ({ name: text, limit: 2 ** 20 })),
  };
  const page = await browser.open(makePage(header, small.columns));
  for (const tab of ['1', '2', '3', '4', '5', '6', '7', '8', '9']) {
    await page.keyboard.press(tab);
    await page.keyboard.press('g');
    await settled(page);
    for (const canvas of await page.locator('canvas').all()) {
      if (await canvas.isVisible()) await canvas.hover({ position: { x: 200, y: 20 }, force: true });
    }
  }
  await page.keyboard.press('3');
  await settled(page);
  await page.locator('.table-row').first().click();
  await settled(page);
  assert.deepEqual(page.problems, []);
  assert.equal(await page.evaluate(() => window.hacked), undefined);
  assert.equal(await page.locator('img, svg, b:not([class])').count(), 0);
  assert.equal(await page.locator('script').count(), 1);
  const program = await page.locator('.program').textContent();
  assert.ok(program.includes(HOSTILE[0]) && program.includes(HOSTILE[1]));
  assert.ok(program.includes('a\u2400b\u2407c\u241b[31md\u240ae\ufffdtxt'));
  await page.close();
});

test('a recording of no events makes a page', async () => {
  const columns = Object.fromEntries(Object.entries(small.columns).map(([name, values]) => [name, values.slice(0, 0)]));
  const header = { ...small.header, duration_ns: 0, steps: [], growth: [], plans: [], sites: [], ops: [], scopes: [], dtypes: [], categories: [], budgets: [],
    pool: { t_ns: [], reserved: [], cached: [], fragmentation: [] } };
  const page = await browser.open(makePage(header, columns));
  for (const key of ['1', '2', '3', '4', '5', '6', '7', '8', '9', 'g', 'p', '+', 'n']) {
    await page.keyboard.press(key);
    await settled(page);
  }
  assert.deepEqual(page.problems, []);
  assert.match(await page.locator('.figures').innerText(), /peak\s+0 B/);
  await page.close();
});

test('what may be missing is told', async () => {
  const header = { ...small.header, complete: false, begins_ns: 5e6, dropped: 1234, damaged: 2, base_bytes: 4096 };
  const page = await browser.open(makePage(header, small.columns));
  const notes = await page.locator('.note').allInnerTexts();
  assert.equal(notes.length, 4);
  assert.match(notes.join(' '), /ended before its recording did.*begins after 5 ms.*1,234 events.*2 parts/);
  assert.match(await page.locator('.legend').innerText(), /before the recording\s+4 KiB/);
  assert.match(await page.locator('.timeline-canvas').getAttribute('aria-label'), /from 5 ms to/);
  await page.close();
});

test('broken data are told in words', async () => {
  const whole = makePage(small.header, small.columns);
  const data = /type="text\/plain">([^<]*)</.exec(whole)[1];
  const cases = [
    [readFileSync(builtPage, 'utf8'), /has no data yet/],
    [pageWith(data.slice(0, data.length / 2 - (data.length / 2) % 4)), /cannot be unpacked/],
    [pageWith('%%%'), /not base64/],
    [makePage({ ...small.header, version: 99 }, small.columns), /version 99/],
  ];
  for (const [html, reason] of cases) {
    const page = await browser.open(html);
    assert.match(await page.locator('.failure').innerText(), reason);
    assert.deepEqual(page.problems, []);
    await page.close();
  }
});

test('a million events can be worked with', async () => {
  const { header, columns } = synthesize({ steps: 7940 });
  assert.ok(columns.birth_ns.length >= 500_000);
  const page = await browser.open(makePage(header, columns, 1));
  const label = () => page.locator('.timeline-canvas').getAttribute('aria-label');
  const whole = await label();
  for (const key of ['+', '+', 'g', '2', '0', '3']) {
    await page.keyboard.press(key);
    await settled(page);
  }
  assert.notEqual(await label(), whole);
  await page.getByPlaceholder('filter').fill('layer_norm block2');
  await settled(page);
  assert.match(await page.locator('.panel-controls').innerText(), /7,940 of 500,\d+/);
  await page.locator('.table-body').focus();
  await page.keyboard.press('Escape');
  await settled(page);
  await page.keyboard.press('End');
  await settled(page);
  assert.equal(await page.locator('.table-row.focused').getAttribute('aria-rowindex'), String(columns.birth_ns.length));
  assert.deepEqual(page.problems, []);
  await page.close();
});
