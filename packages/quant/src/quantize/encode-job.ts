import { byteLength } from '../format/byte-length.js';
import { decode, encode } from '../format/decode.js';
import type { GgufFormat, WritableFormat } from '../format/formats.js';
import { encodeInt8 } from '../format/int8.js';
import { readSlice } from '../read-slice.js';
import { interleaveHeads } from './interleave-heads.js';

/** Rows, as a place in a file or as values. */
export type RowSource =
  | {
      readonly path: string;
      /** In bytes. */
      readonly offset: number;
      readonly from: GgufFormat;
    }
  | { readonly values: Float32Array<ArrayBuffer> };

/** Whole rows of a matrix, and their new format. */
export interface EncodeJob {
  readonly source: RowSource;
  /** Absent: copy the rows of a file. */
  readonly to?: WritableFormat;
  readonly rows: number;
  readonly rowLength: number;
  /** Blocks of q8_0 share scales. */
  readonly sharesScales?: true;
  /** Weight of each column in the error [rowLength]. */
  readonly importance?: Float32Array;
  /** Rows per head, if rows p and p + rotary / 2 of each head become neighbours (see interleaveHeads). */
  readonly rotary?: number;
}

/** Encoding error as sums, so that the pieces of a tensor add up. */
export interface ErrorSums {
  /** Σ (decoded − x)² */
  readonly squares: number;
  /** Σ x² */
  readonly magnitudes: number;
  /** max |decoded − x|; not finite if a value is not. */
  readonly worst: number;
}

export interface EncodedRows {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly error: ErrorSums;
}

/** Reads, decodes and encodes on the calling thread. @throws FileError READ_FAILED or TRUNCATED. */
export function runEncodeJob(job: EncodeJob): EncodedRows {
  const { to, rows, rowLength, rotary, sharesScales } = job;
  if (!to) return { bytes: storedBytes(job), error: { squares: 0, magnitudes: 0, worst: 0 } };
  const count = rows * rowLength;
  const decoded = valuesOf(job); // [rows, rowLength]
  const x = rotary === undefined ? decoded : interleaveHeads(decoded, rowLength, rotary);
  const bytes = new Uint8Array(byteLength(to, [rows, rowLength]));
  if (sharesScales) encodeInt8(x, rowLength, bytes);
  else encode(to, x, 0, bytes, 0, count, job.importance);
  return { bytes, error: errorOf(x, bytes, to) };
}

function storedBytes({ source, rows, rowLength }: EncodeJob): Uint8Array<ArrayBuffer> {
  if ('values' in source) return new Uint8Array(source.values.buffer);
  return readSlice(source.path, source.offset, byteLength(source.from, [rows, rowLength]));
}

function valuesOf(job: EncodeJob): Float32Array {
  const { source, rows, rowLength } = job;
  if ('values' in source) return source.values;
  const decoded = new Float32Array(rows * rowLength);
  decode(source.from, storedBytes(job), 0, decoded, 0, decoded.length);
  return decoded;
}

function errorOf(x: Float32Array, bytes: Uint8Array, format: GgufFormat): ErrorSums {
  const decoded = new Float32Array(x.length);
  decode(format, bytes, 0, decoded, 0, x.length);
  let [squares, magnitudes, worst] = [0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    const difference = decoded[i]! - x[i]!;
    squares += difference * difference;
    magnitudes += x[i]! * x[i]!;
    worst = Math.max(worst, Math.abs(difference)); // NaN stays
  }
  return { squares, magnitudes, worst };
}
