const BYTE_UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
const TIME_UNITS = [
  { size: 1e9, name: 's' },
  { size: 1e6, name: 'ms' },
  { size: 1e3, name: 'µs' },
  { size: 1, name: 'ns' },
];

/** Three digits: 812 B, 1.21 KiB, 14.2 MiB. */
export function bytesText(bytes: number): string {
  let value = Math.abs(bytes);
  let unit = 0;
  while (value >= 1024 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${bytes < 0 ? '-' : ''}${unit === 0 ? trimmed(value, 1) : digits(value)} ${BYTE_UNITS[unit]}`;
}

export function timeText(ns: number): string {
  const size = Math.abs(ns);
  const unit = TIME_UNITS.find((each) => size >= each.size) ?? TIME_UNITS[3];
  return `${unit.size === 1 ? trimmed(ns, 1) : digits(ns / unit.size)} ${unit.name}`;
}

export function countText(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

function digits(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1000) return String(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2);
}

function trimmed(value: number, decimals: number): string {
  return String(Number(value.toFixed(decimals)));
}

/** Round numbers of bytes from 0 to `most`: powers of two and their halves. */
export function byteTicks(most: number, wanted: number): number[] {
  if (!(most > 0)) return [0];
  let step = 2 ** Math.ceil(Math.log2(most / Math.max(wanted, 1)));
  step = Math.max(step, 1);
  const ticks = [];
  for (let tick = 0; tick <= most; tick += step) ticks.push(tick);
  return ticks;
}

/** Round moments within [t0, t1], and how to write them with as many digits as they need. */
export function timeTicks(
  t0: number,
  t1: number,
  wanted: number,
): { ticks: number[]; text: (t: number) => string } {
  const rough = (t1 - t0) / Math.max(wanted, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= rough) ?? 10 * power;
  const ticks = [];
  for (let i = Math.ceil(t0 / step); i * step <= t1; i++) ticks.push(i * step);
  const largest = Math.max(Math.abs(t0), Math.abs(t1));
  const unit = TIME_UNITS.find((each) => largest >= each.size) ?? TIME_UNITS[3];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / unit.size) - 1e-9)));
  return { ticks, text: (t) => `${(t / unit.size).toFixed(decimals)} ${unit.name}` };
}

/** How much more time: 0.083 is "+8.3 %". */
export function priceText(added: number): string {
  return `+${(100 * added).toFixed(added < 0.1 ? 1 : 0)} %`;
}
