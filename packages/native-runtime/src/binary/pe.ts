// PE32+: "PE Format" of Microsoft.
import { type BinaryFacts, textAt } from './facts.js';

const arches: Readonly<Record<number, string>> = { 34404: 'x64', 43620: 'arm64', 332: 'ia32' };

interface Section {
  readonly address: number;
  readonly size: number;
  readonly offset: number;
}

export const isPe = (bytes: Buffer): boolean => bytes.length >= 64 && bytes.toString('latin1', 0, 2) === 'MZ';

function sectionsOf(bytes: Buffer, header: number): Section[] {
  const first = header + 24 + bytes.readUInt16LE(header + 20);
  return Array.from({ length: bytes.readUInt16LE(header + 6) }, (_, i) => ({
    address: bytes.readUInt32LE(first + 40 * i + 12),
    size: bytes.readUInt32LE(first + 40 * i + 16),
    offset: bytes.readUInt32LE(first + 40 * i + 20),
  }));
}

/** Names of the libraries in a table of `step` bytes per library, the name's address at `name`. */
function librariesOf(
  bytes: Buffer,
  from: number,
  step: number,
  name: number,
  at: (address: number) => number,
) {
  const names: string[] = [];
  for (let entry = from; entry > 0 && bytes.readUInt32LE(entry + name) !== 0; entry += step)
    names.push(textAt(bytes, at(bytes.readUInt32LE(entry + name))));
  return names;
}

/** Throws a RangeError where the file ends within its headers. */
export function readPe(bytes: Buffer): BinaryFacts {
  const header = bytes.readUInt32LE(0x3c);
  const optional = header + 24;
  const sections = sectionsOf(bytes, header);
  const at = (address: number) => {
    const section = sections.find(({ address: from, size }) => address >= from && address < from + size);
    return section ? address - section.address + section.offset : 0;
  };
  const table = (index: number) => at(bytes.readUInt32LE(optional + 112 + 8 * index));
  const machine = bytes.readUInt16LE(header + 4);
  return {
    format: 'PE',
    os: 'win32',
    arch: arches[machine] ?? `PE machine ${machine}`,
    libraries: [
      ...librariesOf(bytes, table(1), 20, 12, at), // imports
      ...librariesOf(bytes, table(13), 32, 4, at), // loaded at the first call
    ],
    least: `${bytes.readUInt16LE(optional + 48)}.${bytes.readUInt16LE(optional + 50)}`,
    bytes: bytes.length,
    describedBytes: Math.max(...sections.map(({ offset, size }) => offset + size)),
  };
}
