// Debian's Chromium, driven by playwright-core.
import { existsSync } from 'node:fs';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

export const executable = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
  .find((path) => path && existsSync(path));

/** Opens pages from files, as a reader does; a page's errors and requests are noted. */
export class Browser {
  static async start() {
    const browser = new Browser();
    browser.folder = mkdtempSync(join(tmpdir(), 'tenure-report-'));
    // With scroll bars, as readers have them.
    browser.chromium = await chromium.launch({
      executablePath: executable, args: ['--no-sandbox'], ignoreDefaultArgs: ['--hide-scrollbars'],
    });
    return browser;
  }

  /** `hash` is what follows in the address; `init` runs in the page before all else. */
  async open(html, { width = 1280, height = 800, colorScheme = 'light', hash = '', init = null } = {}) {
    const file = join(this.folder, `${Math.random().toString(36).slice(2)}.html`);
    writeFileSync(file, html);
    const page = await this.chromium.newPage({ viewport: { width, height }, colorScheme });
    page.problems = [];
    page.requests = [];
    page.on('pageerror', (error) => page.problems.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') page.problems.push(message.text());
    });
    page.on('request', (request) => page.requests.push(request.url()));
    page.on('dialog', (dialog) => {
      page.problems.push(`dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    if (init) await page.addInitScript(init);
    await page.goto(`${pathToFileURL(file).href}${hash}`);
    await page.waitForSelector('.timeline-canvas, .failure');
    await settled(page);
    return page;
  }

  async stop() {
    await this.chromium.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Waits until what was changed is drawn. */
export async function settled(page) {
  await page.evaluate(() => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done)));
  }));
}
