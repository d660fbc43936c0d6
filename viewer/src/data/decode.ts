import { type Column, type Header, Report, type Rows } from './report.ts';

/** The page's data are not what FORMAT.md says; the text is for the reader of the page. */
export class ReportError extends Error {}

const VERSION = 1;
const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f64: Float64Array,
} as const;
const LIVE_IN_U32 = 0xffffffff;

/** Undoes base64 and zlib. */
export async function unpack(text: string): Promise<ArrayBuffer> {
  let binary: string;
  try {
    binary = atob(text.trim());
  } catch {
    throw new ReportError('The data in this page are not base64: the file was changed or cut.');
  }
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  try {
    return await new Response(stream).arrayBuffer();
  } catch {
    throw new ReportError('The data in this page cannot be unpacked: the file was changed or cut.');
  }
}

/** Reads the bytes that FORMAT.md describes. */
export function decode(buffer: ArrayBuffer): Report {
  const header = readHeader(buffer);
  const columns = new Map<string, Column>();
  for (const { name, type, offset, length, delta } of header.columns) {
    const Kind = ARRAYS[type];
    if (!Kind || offset % 8 !== 0 || offset + length * Kind.BYTES_PER_ELEMENT > buffer.byteLength) {
      throw new ReportError(`Column '${name}' does not lie within the data: the file was cut.`);
    }
    const stored = new Kind(buffer, offset, length);
    columns.set(name, delta ? summed(stored) : stored);
  }
  return new Report(header, readRows(header, columns), columns);
}

function readHeader(buffer: ArrayBuffer): Header {
  const length = buffer.byteLength >= 4 ? new DataView(buffer).getUint32(0, true) : 0;
  if (length === 0 || 4 + length > buffer.byteLength) {
    throw new ReportError('The data in this page have no header: the file was cut.');
  }
  let header: Header;
  try {
    header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length))) as Header;
  } catch {
    throw new ReportError('The header of the data is not JSON.');
  }
  if (header.version !== VERSION) {
    throw new ReportError(
      `The data are of version ${String(header.version)}, this page reads version ${VERSION}. ` +
        'Make the page anew with the tenure command that made the recording.',
    );
  }
  const lists = ['strings', 'sites', 'scopes', 'ops', 'categories', 'dtypes', 'threads', 'steps',
    'growth', 'plans', 'columns'] as const;
  for (const list of lists) {
    if (!Array.isArray(header[list])) throw new ReportError(`The header has no list '${list}'.`);
  }
  return header;
}

function readRows(header: Header, columns: Map<string, Column>): Rows {
  const birthColumn = columns.get('birth_ns');
  if (!birthColumn) throw new ReportError("The data have no column 'birth_ns'.");
  const count = birthColumn.length;

  const column = (name: string, missing: number): Column => {
    const found = columns.get(name);
    if (!found) return missing === 0 ? new Uint8Array(count) : new Float64Array(count).fill(missing);
    if (found.length !== count) {
      throw new ReportError(`Column '${name}' has ${found.length} values, 'birth_ns' ${count}.`);
    }
    return found;
  };
  const ids = (name: string, size: number, missing = 0): Column => {
    const values = column(name, missing);
    for (let i = 0; i < count; i++) {
      if (values[i] < missing || (values[i] >= size && !(size === 0 && values[i] === 0))) {
        throw new ReportError(`Column '${name}' names entry ${values[i]} of a list of ${size}.`);
      }
    }
    return values;
  };

  const birth = widened(birthColumn);
  for (let i = 1; i < count; i++) {
    if (!(birth[i] >= birth[i - 1])) throw new ReportError('The rows are not ordered by birth.');
  }
  const life = column('life_ns', Infinity);
  const isNarrow = life instanceof Uint32Array;
  const death = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    death[i] = isNarrow && life[i] === LIVE_IN_U32 ? Infinity : birth[i] + life[i];
  }
  return {
    count,
    birth,
    death,
    bytes: widened(column('bytes', 0)),
    address: widened(column('address', -1)),
    idle: widened(column('idle_ns', 0)),
    category: ids('category', header.categories.length),
    op: ids('op', header.ops.length),
    site: ids('site', header.sites.length),
    scope: ids('scope', header.scopes.length),
    thread: ids('thread', header.threads.length),
    dtype: ids('dtype', header.dtypes.length),
    shape: ids('shape', header.strings.length),
    holders: ids('holders', header.strings.length),
    name: ids('name', header.strings.length),
    disposedSite: ids('disposed_site', header.sites.length, -1),
  };
}

function widened(column: Column): Float64Array {
  return column instanceof Float64Array ? column : Float64Array.from(column);
}

function summed(differences: Column): Float64Array {
  const values = new Float64Array(differences.length);
  let value = 0;
  for (let i = 0; i < values.length; i++) values[i] = value += differences[i];
  return values;
}
