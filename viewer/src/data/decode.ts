import { type Column, type Header, type Holders, Report, type Rows } from './report.ts';

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
const NO_DTYPE = 255;
const MOST_THREADS = 256;

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
  for (const { name, type, offset, length } of header.columns) {
    const Kind = ARRAYS[type];
    if (!Kind || offset % 8 !== 0 || offset + length * Kind.BYTES_PER_ELEMENT > buffer.byteLength) {
      throw new ReportError(`Column '${name}' does not lie within the data: the file was cut.`);
    }
    columns.set(name, new Kind(buffer, offset, length));
  }
  return new Report(header, readRows(header, columns), readHolders(header, columns));
}

function readHolders(header: Header, columns: Map<string, Column>): Holders {
  const shift = header.base_bytes > 0 ? 1 : 0; // what was live before is a row more, in front
  const row = Uint32Array.from(columns.get('holder_row') ?? [], (each) => each + shift);
  const column = (name: string, size: number): Column => {
    const found = columns.get(name) ?? new Uint8Array(row.length);
    if (found.length !== row.length || found.some((each) => each >= size && each !== 0)) {
      throw new ReportError(`Column '${name}' does not belong to the holders.`);
    }
    return found;
  };
  const times = (name: string): Float64Array => widened(columns.get(name) ?? new Float64Array(row.length));
  return {
    count: row.length,
    row,
    op: column('holder_op', header.ops.length),
    site: column('holder_site', header.sites.length),
    kind: column('holder_kind', header.holder_kinds?.length ?? 0),
    name: column('holder_name', header.strings.length),
    birth: times('holder_birth_ns'),
    end: times('holder_end_ns'),
  };
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
  const lists = ['strings', 'sites', 'scopes', 'ops', 'categories', 'dtypes', 'steps', 'growth', 'plans',
    'budgets', 'columns'] as const;
  for (const list of lists) {
    if (!Array.isArray(header[list])) throw new ReportError(`The header has no list '${list}'.`);
  }
  return header;
}

function readRows(header: Header, columns: Map<string, Column>): Rows {
  const stored = columns.get('birth_ns');
  if (!stored) throw new ReportError("The data have no column 'birth_ns'.");
  const extra = header.base_bytes > 0 ? 1 : 0;
  const count = stored.length + extra;

  /** A column as it is stored; with what was live before any row, one value more in front. */
  const column = (name: string, missing: number, first: number): Column => {
    const found = columns.get(name);
    if (!found) return new Float64Array(count).fill(missing);
    if (found.length !== stored.length) {
      throw new ReportError(`Column '${name}' has ${found.length} values, 'birth_ns' ${stored.length}.`);
    }
    if (extra === 0) return found;
    const values = new Float64Array(count);
    values[0] = first;
    values.set(found, 1);
    return values;
  };
  const ids = (name: string, size: number, missing = 0, first = 0): Column => {
    const values = column(name, missing, first);
    for (let i = 0; i < count; i++) {
      if (values[i] < missing || (values[i] >= size && values[i] !== 0)) {
        throw new ReportError(`Column '${name}' names entry ${values[i]} of a list of ${size}.`);
      }
    }
    return values;
  };

  const birth = widened(column('birth_ns', 0, 0));
  for (let i = 1; i < count; i++) {
    if (!(birth[i] >= birth[i - 1])) throw new ReportError('The rows are not ordered by birth.');
  }
  const death = widened(column('death_ns', Infinity, Infinity));
  const used = column('last_use_ns', -1, -1);
  const idle = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const end = Math.min(death[i], Math.max(header.duration_ns, birth[i]));
    idle[i] = Math.max(0, end - Math.max(used[i], birth[i]));
  }
  if (extra > 0) {
    header.categories = [...header.categories, 'before the recording'];
    idle[0] = 0;
  }
  return {
    count,
    birth,
    death,
    bytes: widened(column('bytes', 0, header.base_bytes)),
    address: widened(column('address', -1, -1)),
    idle,
    tensors: column('tensors', 0, 0),
    category: ids('category', header.categories.length, 0, header.categories.length - 1),
    op: ids('op', header.ops.length),
    site: ids('site', header.sites.length),
    scope: ids('scope', header.scopes.length),
    device: ids('device', header.devices?.length ?? 1),
    thread: ids('thread', MOST_THREADS),
    dtype: withoutNone(column('dtype', NO_DTYPE, NO_DTYPE), header),
    shape: ids('shape', header.strings.length),
    holders: ids('holders', header.strings.length),
    name: ids('name', header.strings.length),
    calls: ids('calls', header.strings.length),
    disposedSite: ids('disposed_site', header.sites.length, -1, -1),
    plan: column('plan', 0, 0),
    firstStep: column('first_step', 0, 0),
    lastStep: column('last_step', 0, 0),
    again: column('again', 0, 0),
    inside: ids('inside', header.strings.length),
  };
}

/** What has no element type gets one more entry of the list, so that all rows have one. */
function withoutNone(dtypes: Column, header: Header): Column {
  const none = header.dtypes.length;
  header.dtypes = [...header.dtypes, 'none'];
  return Uint8Array.from(dtypes, (dtype) => Math.min(dtype, none));
}

function widened(column: Column): Float64Array {
  return column instanceof Float64Array ? column : Float64Array.from(column);
}
