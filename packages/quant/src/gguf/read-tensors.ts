import { byteLength } from '../format/byte-length.js';
import { formatOfType, type GgufFormat } from '../format/formats.js';
import { ggmlTypeName } from '../format/ggml-types.js';
import { checkOverlap } from '../overlap.js';
import type { Cursor } from './cursor.js';
import type { TensorInfo } from './gguf-file.js';
import { maxNameBytes, quote } from './read-metadata.js';

const maxTensors = 262144; // the largest models have about ten thousand
const maxDimensions = 4; // GGML_MAX_DIMS
const leastTensorBytes = 8 + 4 + 4 + 8; // an empty name, no dimensions, type, offset

/** A tensor in the header. `offset` counts from the start of the tensor data. */
interface TensorEntry {
  readonly name: string;
  readonly shape: readonly number[];
  readonly format: GgufFormat;
  readonly offset: number;
}

/** Reads `count` tensor descriptions. @throws FileError BAD_TENSOR, UNKNOWN_FORMAT, TRUNCATED, TOO_LARGE. */
export function readTensorEntries(cursor: Cursor, count: number): TensorEntry[] {
  cursor.checkCount(count, leastTensorBytes, maxTensors, 'tensors');
  const entries: TensorEntry[] = [];
  const names = new Set<string>();
  for (let i = 0; i < count; i++) {
    cursor.reading = `the name of tensor ${i}`;
    const name = cursor.string(maxNameBytes);
    if (names.has(name)) cursor.fail('BAD_TENSOR', `has two tensors named ${quote(name)}`);
    names.add(name);
    cursor.reading = `the description of tensor ${quote(name)}`;
    entries.push({ name, shape: readShape(cursor), format: readFormat(cursor, name), offset: cursor.u64() });
  }
  return entries;
}

function readShape(cursor: Cursor): number[] {
  const dimensions = cursor.u32();
  if (dimensions > maxDimensions) {
    cursor.fail(
      'BAD_TENSOR',
      `${cursor.reading} gives ${dimensions} dimensions; at most ${maxDimensions} are possible`,
    );
  }
  return Array.from({ length: dimensions }, () => cursor.u64()).reverse();
}

function readFormat(cursor: Cursor, name: string): GgufFormat {
  const id = cursor.u32();
  const format = formatOfType(id);
  if (format) return format;
  const known = ggmlTypeName(id);
  return cursor.fail(
    'UNKNOWN_FORMAT',
    known
      ? `tensor ${quote(name)} is in the format ${known} (ggml type ${id}), which Quern does not read`
      : `tensor ${quote(name)} has the ggml type ${id}, which is not known: the file is damaged or newer than this version`,
  );
}

/**
 * Converts descriptions to places in the file.
 * @param dataOffset start of the tensor data in the file
 * @throws FileError BAD_TENSOR for an impossible shape or offset or overlapping tensors, TRUNCATED for a tensor beyond
 * the end of the file.
 */
export function placeTensors(
  cursor: Cursor,
  entries: readonly TensorEntry[],
  dataOffset: number,
  alignment: number,
): TensorInfo[] {
  const tensors = entries.map((entry) => {
    if (entry.offset % alignment !== 0) {
      const at = `its offset ${entry.offset} is not a multiple of the alignment ${alignment}`;
      cursor.fail('BAD_TENSOR', `tensor ${quote(entry.name)}: ${at}`);
    }
    const { name, shape, format } = entry;
    const bytes = bytesOf(cursor, entry);
    const offset = dataOffset + entry.offset;
    if (offset + bytes > cursor.fileSize) outside(cursor, name, offset, bytes);
    return { name, shape, format, path: cursor.path, offset, byteLength: bytes };
  });
  checkOverlap(cursor.path, tensors);
  return tensors;
}

function bytesOf(cursor: Cursor, { name, shape, format }: TensorEntry): number {
  try {
    return byteLength(format, shape);
  } catch (error) {
    return cursor.fail('BAD_TENSOR', `tensor ${quote(name)}: ${(error as Error).message}`);
  }
}

function outside(cursor: Cursor, name: string, offset: number, bytes: number): never {
  const span = `needs bytes ${offset} to ${offset + bytes}, but the file has ${cursor.fileSize}`;
  return cursor.fail(
    'TRUNCATED',
    `tensor ${quote(name)} ${span}: it is incomplete or damaged; fetch it again`,
  );
}
