import { readFileSync } from 'node:fs';
import { isElf, readElf } from './elf.js';
import type { BinaryFacts } from './facts.js';
import { isMachO, readMachO } from './mach-o.js';
import { isPe, readPe } from './pe.js';

/** Bytes that are no addon: of no known format, or cut off within the headers. */
export interface NoBinary {
  readonly format: undefined;
  readonly bytes: number;
}

/** The reader of a file's format; undefined: no format of addons. */
function readerOf(bytes: Buffer): ((bytes: Buffer) => BinaryFacts) | undefined {
  if (isElf(bytes)) return readElf;
  if (isMachO(bytes)) return readMachO;
  return isPe(bytes) ? readPe : undefined;
}

/** What the headers of an addon say, without loading it. Throws as `readFileSync`. */
export function inspectBinary(file: string): BinaryFacts | NoBinary {
  const bytes = readFileSync(file);
  try {
    return readerOf(bytes)?.(bytes) ?? { format: undefined, bytes: bytes.length };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { format: undefined, bytes: bytes.length };
  }
}
