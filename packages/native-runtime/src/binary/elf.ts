// ELF, 64 bits, little-endian: System V ABI; versions of symbols: Linux Standard Base, "Symbol Versioning".
import { type BinaryFacts, highest, textAt } from './facts.js';

const arches: Readonly<Record<number, string>> = { 62: 'x64', 183: 'arm64' };
const [load, dynamic] = [1, 2]; // types of segments
const [needed, stringTable, versionsNeeded, versionsNeededCount] = [1, 5, 0x6ffffffe, 0x6fffffff]; // dynamic tags

interface Segment {
  readonly type: number;
  readonly offset: number;
  readonly address: number;
  readonly size: number;
}

export const isElf = (bytes: Buffer): boolean =>
  bytes.length >= 64 && bytes.readUInt32BE(0) === 0x7f454c46 && bytes[4] === 2 && bytes[5] === 1;

const word = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

function segmentsOf(bytes: Buffer): Segment[] {
  const [from, size, count] = [word(bytes, 32), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
  return Array.from({ length: count }, (_, i) => {
    const at = from + i * size;
    return {
      type: bytes.readUInt32LE(at),
      offset: word(bytes, at + 8),
      address: word(bytes, at + 16),
      size: word(bytes, at + 32),
    };
  });
}

/** End of the last segment and of the section headers. */
function describedBytes(bytes: Buffer, segments: readonly Segment[]): number {
  const sections = word(bytes, 40) + bytes.readUInt16LE(58) * bytes.readUInt16LE(60);
  return Math.max(sections, ...segments.map(({ offset, size }) => offset + size));
}

/** Entries [tag, value] of the dynamic segment. */
function tagsOf(bytes: Buffer, segments: readonly Segment[]): [number, number][] {
  const segment = segments.find(({ type }) => type === dynamic);
  if (!segment) return [];
  const size = Math.min(segment.size, bytes.length);
  return Array.from({ length: Math.floor(size / 16) }, (_, i) => [
    word(bytes, segment.offset + 16 * i),
    word(bytes, segment.offset + 16 * i + 8),
  ]);
}

/** Names of versions of symbols that the file takes from libraries: 'GLIBC_2.28'. */
function versionNames(bytes: Buffer, first: number, count: number, strings: number): string[] {
  const names: string[] = [];
  for (let i = 0, library = first; i < count; i++) {
    const entries = bytes.readUInt16LE(library + 2);
    let entry = library + bytes.readUInt32LE(library + 8);
    for (let j = 0; j < entries; j++, entry += bytes.readUInt32LE(entry + 12))
      names.push(textAt(bytes, strings + bytes.readUInt32LE(entry + 8)));
    const next = bytes.readUInt32LE(library + 12);
    if (next === 0) break;
    library += next;
  }
  return names;
}

function leastGlibc(names: readonly string[]): string | undefined {
  return highest(names.flatMap((name) => /^GLIBC_(\d[\d.]*)$/.exec(name)?.[1] ?? []));
}

/** libc.so.6 is glibc's name alone; addons for musl name libc.so or libc.musl-x86_64.so.1. */
function libcOf(libraries: readonly string[]): 'gnu' | 'musl' | undefined {
  if (libraries.includes('libc.so.6')) return 'gnu';
  return libraries.some((name) => /^libc\.(so$|musl-)/.test(name)) ? 'musl' : undefined;
}

/** Throws a RangeError where the file ends within its headers. */
export function readElf(bytes: Buffer): BinaryFacts {
  const segments = segmentsOf(bytes);
  const tags = tagsOf(bytes, segments);
  const at = (address: number) => {
    const segment = segments.find(
      ({ type, address: from, size }) => type === load && address >= from && address < from + size,
    );
    return segment ? address - segment.address + segment.offset : bytes.length;
  };
  const value = (tag: number) => tags.find(([each]) => each === tag)?.[1];
  const strings = at(value(stringTable) ?? 0);
  const libraries = tags
    .filter(([tag]) => tag === needed)
    .map(([, offset]) => textAt(bytes, strings + offset));
  const versions = value(versionsNeeded);
  const names =
    versions === undefined ? [] : versionNames(bytes, at(versions), value(versionsNeededCount) ?? 0, strings);
  const machine = bytes.readUInt16LE(18);
  return {
    format: 'ELF',
    os: 'linux',
    arch: arches[machine] ?? `ELF machine ${machine}`,
    libraries,
    libc: libcOf(libraries),
    least: leastGlibc(names),
    bytes: bytes.length,
    describedBytes: describedBytes(bytes, segments),
  };
}
