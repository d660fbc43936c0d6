import { decode } from '../../src/data/decode.ts';
import { packBytes } from '../page.mjs';
import { synthesize } from '../synthetic.mjs';

export const small = synthesize({ steps: 8, layers: 3 });

export function reportOf({ header, columns } = small) {
  return decode(packBytes(header, columns).buffer);
}

/** A report whose rows have these births, lives and bytes, and whatever columns else. */
export function tiny(births, lives, bytes, more = {}, header = {}) {
  const deaths = births.map((birth, i) => birth + lives[i]);
  return reportOf({
    header: { ...small.header, plans: [], steps: [], growth: [], ...header },
    columns: {
      birth_ns: Float64Array.from(births), death_ns: Float64Array.from(deaths), bytes: Float64Array.from(bytes), ...more,
    },
  });
}

/** Live bytes at a moment, by looking at every row. */
export function liveAt(report, t, wants = () => true) {
  let sum = 0;
  for (let row = 0; row < report.rows.count; row++) {
    const { birth, death, bytes } = report.rows;
    if (birth[row] <= t && death[row] > t && wants(row)) sum += bytes[row];
  }
  return sum;
}
