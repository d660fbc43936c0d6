// Writes report pages as FORMAT.md says, from a header and columns.
import { readFileSync } from 'node:fs';
import { deflateSync } from 'node:zlib';

const TYPES = { u8: Uint8Array, u16: Uint16Array, u32: Uint32Array, i32: Int32Array, f64: Float64Array };
export const builtPage = new URL('../dist/report.html', import.meta.url);

/** The bytes of a report; `columns` maps a name to a typed array. */
export function packBytes(header, columns) {
  const aligned = (size) => Math.ceil(size / 8) * 8;
  const described = Object.entries(columns).map(([name, values]) => ({
    name,
    type: Object.keys(TYPES).find((type) => values instanceof TYPES[type]),
    offset: 0,
    length: values.length,
  }));
  // Offsets stand in the header, whose length they depend on: room for the largest is left.
  const encode = () => new TextEncoder().encode(JSON.stringify({ ...header, columns: described }));
  const start = aligned(4 + encode().length + described.length * 16);
  let end = start;
  for (const column of described) {
    column.offset = end;
    end = aligned(end + columns[column.name].byteLength);
  }
  const text = encode();
  const bytes = new Uint8Array(end);
  new DataView(bytes.buffer).setUint32(0, text.length, true);
  bytes.set(text, 4);
  for (const { name, offset } of described) {
    const { buffer, byteOffset, byteLength } = columns[name];
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), offset);
  }
  return bytes;
}

export function makePage(header, columns, level = 6) {
  const data = deflateSync(packBytes(header, columns), { level }).toString('base64');
  return pageWith(data);
}

export function pageWith(data) {
  return readFileSync(builtPage, 'utf8').replace('@TENURE_REPORT@', () => data);
}
