import { type Cooperative, runAtOnce } from '@quern/core';
import { FileError } from '../error.js';
import { Cursor, MoreBytesNeeded } from './cursor.js';
import type { GgufFile } from './gguf-file.js';
import { type Metadata, readMetadata } from './read-metadata.js';
import { placeTensors, readTensorEntries } from './read-tensors.js';

const defaultAlignment = 32;

export interface ParseGgufOptions {
  /** For messages and `TensorInfo.path`. Default '(memory)'. */
  readonly path?: string | undefined;
  /** Size of the whole file in bytes, if `bytes` is only its beginning. Default `bytes.length`. */
  readonly fileSize?: number | undefined;
}

/**
 * Reads the header of a GGUF file in memory. For a split model, the result describes this part alone.
 * @throws FileError with the codes of `openGguf`; TRUNCATED also if `bytes` ends before the header.
 */
export function parseGguf(bytes: Uint8Array, options: ParseGgufOptions = {}): GgufFile {
  const path = options.path ?? '(memory)';
  try {
    return runAtOnce(parseHeader(new Cursor(bytes, options.fileSize ?? bytes.length, path)));
  } catch (error) {
    if (!(error instanceof MoreBytesNeeded)) throw error;
    const given = `${bytes.length} bytes were given; the header goes on to byte ${error.upTo} at least`;
    throw new FileError('TRUNCATED', path, given);
  }
}

/** As `parseGguf`, but MoreBytesNeeded passes through. */
export function* parseHeader(cursor: Cursor): Cooperative<GgufFile> {
  const version = readPreamble(cursor);
  const tensorCount = cursor.u64();
  const metadataCount = cursor.u64();
  const metadata = yield* readMetadata(cursor, metadataCount);
  const alignment = alignmentOf(cursor, metadata);
  const entries = readTensorEntries(cursor, tensorCount);
  const tensorDataOffset = Math.ceil(cursor.position / alignment) * alignment;
  return {
    version,
    metadata: metadata.values,
    metadataTypes: metadata.types,
    tensors: placeTensors(cursor, entries, tensorDataOffset, alignment),
    alignment,
    tensorDataOffset,
    paths: [cursor.path],
  };
}

function readPreamble(cursor: Cursor): number {
  if (cursor.fileSize < 4) cursor.fail('NOT_GGUF', `is not a GGUF file: it has ${cursor.fileSize} bytes`);
  const magic = Buffer.from(cursor.bytes(4)).toString('latin1');
  if (magic !== 'GGUF') cursor.fail('NOT_GGUF', `is not a GGUF file: ${describeMagic(magic)}`);
  const version = cursor.u32();
  if (version === 2 || version === 3) return version;
  if (version % 0x10000 === 0 && version > 0) {
    cursor.fail('BIG_ENDIAN', 'is a big-endian GGUF file; convert it to little-endian (gguf-convert-endian)');
  }
  return cursor.fail(
    'UNSUPPORTED_VERSION',
    `is GGUF version ${version}; versions 2 and 3 are read. Convert the model again`,
  );
}

function describeMagic(magic: string): string {
  if (['lmgg', 'tjgg', 'fmgg', 'algg'].includes(magic))
    return 'it is in a format older than GGUF; convert the model again';
  if (magic === 'vers') return 'it looks like a Git LFS pointer; fetch the file itself (git lfs pull)';
  return `it begins with ${JSON.stringify(magic)} instead of "GGUF"`;
}

function alignmentOf(cursor: Cursor, metadata: Metadata): number {
  const value = metadata.values.get('general.alignment') ?? defaultAlignment;
  if (typeof value === 'number' && value > 0 && Number.isInteger(Math.log2(value))) return value;
  const shown = typeof value === 'number' ? value : `a ${metadata.types.get('general.alignment')}`;
  return cursor.fail('BAD_HEADER', `general.alignment must be a power of two; it is ${shown}`);
}
