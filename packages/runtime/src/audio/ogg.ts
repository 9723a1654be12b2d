import { TimeSlice } from '@quern/core';

const ascii = (bytes: Uint8Array, from: number, to: number) =>
  String.fromCharCode(...bytes.subarray(from, to));

/** The start of the first packet of an Ogg file, which names the codec. */
export const firstPacket = (bytes: Uint8Array): string => ascii(bytes, 28, 36);

export const isOgg = (bytes: Uint8Array): boolean => ascii(bytes, 0, 4) === 'OggS';

interface Page {
  readonly continues: boolean;
  readonly begins: boolean;
  readonly ends: boolean;
  /** Position of the sound at the page's end; -1: no packet ends here. */
  readonly granule: number;
  readonly serial: number;
  readonly lengths: Uint8Array;
  readonly start: number;
  readonly end: number;
}

/** The page at a byte; a text is its fault. */
function pageAt(bytes: Uint8Array, view: DataView, at: number): Page | string {
  if (ascii(bytes, at, at + 4) !== 'OggS') return `there is no page at byte ${at}`;
  const segments = bytes[at + 26] ?? 0;
  const start = at + 27 + segments;
  const lengths = bytes.subarray(at + 27, start);
  const end = lengths.reduce((sum, length) => sum + length, start);
  if (end > bytes.length || lengths.length < segments)
    return `its last page ends beyond byte ${bytes.length}`;
  const flags = bytes[at + 5]!;
  return {
    continues: (flags & 1) !== 0,
    begins: (flags & 2) !== 0,
    ends: (flags & 4) !== 0,
    granule: Number(view.getBigInt64(at + 6, true)),
    serial: view.getUint32(at + 14, true),
    lengths,
    start,
    end,
  };
}

async function* pages(bytes: Uint8Array): AsyncGenerator<Page | string, void, void> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const slice = new TimeSlice();
  for (let at = 0; at < bytes.length; ) {
    const page = pageAt(bytes, view, at);
    yield page;
    if (typeof page === 'string') return;
    at = page.end;
    if (slice.over) await slice.yield();
  }
}

/** What the pages of an Ogg file show before it is decoded. */
export interface OggScan {
  /** The fault of an incomplete file: pages are contiguous, and the last one has a flag. */
  readonly fault?: string;
  /** Whether further sounds follow the first one. */
  readonly chained: boolean;
  /** Position of the first stream's sound at its last page. */
  readonly granule: number;
}

export async function scanOgg(bytes: Uint8Array): Promise<OggScan> {
  let [marked, started, chained, granule] = [false, false, false, 0];
  let serial: number | undefined;
  for await (const page of pages(bytes)) {
    if (typeof page === 'string') return { fault: page, chained, granule };
    serial ??= page.serial;
    if (page.begins && started) chained = true;
    started ||= !page.begins;
    if (page.serial === serial && page.granule >= 0) granule = page.granule;
    marked = page.ends;
  }
  return { ...(!marked && { fault: 'it has no last page' }), chained, granule };
}

/** The packets of the first stream. */
export async function* oggPackets(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, void> {
  let serial: number | undefined;
  let parts: Uint8Array[] = []; // of an unfinished packet
  for await (const page of pages(bytes)) {
    if (typeof page === 'string') return;
    serial ??= page.serial;
    if (page.serial !== serial) continue;
    if (!page.continues) parts = [];
    let [from, to] = [page.start, page.start];
    for (const length of page.lengths) {
      to += length;
      if (length === 255) continue;
      yield Buffer.concat([...parts, bytes.subarray(from, to)]);
      parts = [];
      from = to;
    }
    if (to > from) parts.push(bytes.subarray(from, to));
  }
}
