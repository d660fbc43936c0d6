// Tests of the page: its logic in Node, then the built page in Chromium. With an argument, only the
// files whose names contain it.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const here = fileURLToPath(new URL('.', import.meta.url));
const built = join(here, '../node_modules/.tests');
const wanted = process.argv[2] ?? '';
const filesIn = (folder) => readdirSync(join(here, folder))
  .filter((name) => name.endsWith('.test.mjs') && name.includes(wanted))
  .map((name) => join(here, folder, name));

rmSync(built, { recursive: true, force: true });
mkdirSync(built, { recursive: true });
await build({
  entryPoints: filesIn('unit'),
  outdir: built,
  outExtension: { '.js': '.mjs' },
  bundle: true,
  platform: 'node',
  format: 'esm',
  logLevel: 'error',
});
const files = [...readdirSync(built).map((name) => join(built, name)), ...filesIn('browser')];
const run = spawnSync(process.execPath, ['--test', '--test-reporter=spec', ...files], { stdio: 'inherit' });
process.exitCode = run.status ?? 1;

if (/"resolved"/.test(readFileSync(join(here, '../package-lock.json'), 'utf8'))) {
  console.error('package-lock.json names the registry that it came from: remove its "resolved" fields');
  process.exitCode = 1;
}

// The page that is checked in must be the one that the sources make.
if (wanted === '' && run.status === 0) {
  const fresh = join(here, '../node_modules/.fresh');
  const vite = spawnSync('npx', ['vite', 'build', '--outDir', fresh, '--emptyOutDir', '--logLevel', 'error'],
    { stdio: 'inherit', cwd: join(here, '..') });
  const isSame = vite.status === 0 &&
    readFileSync(join(fresh, 'report.html')).equals(readFileSync(join(here, '../dist/report.html')));
  if (!isSame) {
    console.error('dist/report.html is not what the sources make: run `npm run build` and commit it');
    process.exitCode = 1;
  }
}
