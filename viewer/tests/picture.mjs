// picture.mjs REPORT.html OUT.png [ADDRESS]: a report page as a reader sees it, for the documentation;
// ADDRESS is what it shows, as the part of its address after '#'. `./dev picture` calls it.
import { readFileSync } from 'node:fs';
import { Browser } from './browser.mjs';

const [report, out, address = ''] = process.argv.slice(2);
if (!out) {
  console.error('usage: picture.mjs REPORT.html OUT.png [ADDRESS]');
  process.exit(2);
}
const browser = await Browser.start();
try {
  const page = await browser.open(readFileSync(report, 'utf8'), {
    height: 760, hash: address === '' ? '' : `#${address}`,
  });
  if (page.problems.length > 0) throw new Error(page.problems.join('\n'));
  await page.screenshot({ path: out });
} finally {
  await browser.stop();
}
