import { type Column, type Header, type Holders, Report, type Rows } from './report.ts';

/** What a report says of one of its devices: its rows, and what belongs to them. */
export function ofDevice(report: Report, device: number): Report {
  const { rows, holders, header } = report;
  const isKept = (row: number): boolean => rows.device[row] === device;
  const places = new Int32Array(rows.count).fill(-1);
  let count = 0;
  for (let row = 0; row < rows.count; row++) {
    if (isKept(row)) places[row] = count++;
  }
  const isHeldHere = (holder: number): boolean => places[holders.row[holder]] >= 0;
  const ownHolders = kept(holders, isHeldHere);
  ownHolders.row = Uint32Array.from(ownHolders.row, (row) => places[row]);
  const isPartHere = (part: { device: number }): boolean => part.device === device;
  const own: Header = {
    ...header,
    base_bytes: device === 0 ? header.base_bytes : 0,
    segments: (header.segments ?? []).filter(isPartHere),
    slabs: (header.slabs ?? []).filter(isPartHere),
    outside: (header.outside ?? []).filter(isPartHere),
    pool: device === 0 ? header.pool : { t_ns: [], reserved: [], cached: [], fragmentation: [] },
  };
  delete own.peak_ns; // that of all devices
  delete own.storages;
  return new Report(own, kept(rows, isKept), ownHolders);
}

/** All columns without the places that are not wanted. */
function kept<T extends Rows | Holders>(columns: T, wants: (place: number) => boolean): T {
  const entries = Object.entries(columns).map(([name, column]: [string, Column | number]) => [
    name,
    typeof column === 'number' ? column : column.filter((_: number, place: number) => wants(place)),
  ]);
  const result = Object.fromEntries(entries) as T;
  result.count = ('birth' in result ? (result.birth as Column) : []).length;
  return result;
}
