import { FormatError } from '../error.js';
import { byteLength } from './byte-length.js';
import type { Codec } from './codec.js';
import { codecs, formats, type GgufFormat, type WritableFormat } from './formats.js';

/**
 * Decodes `count` elements of `format` from byte `srcOffset` of `src` into `dst` from element `dstOffset`, bit for bit
 * as ggml.
 * @throws FormatError BAD_LENGTH if `count` is not whole blocks, or an array is too short.
 */
export function decode(
  format: GgufFormat,
  src: Uint8Array,
  srcOffset: number,
  dst: Float32Array,
  dstOffset: number,
  count: number,
): void {
  checkSpan(format, src, srcOffset, dst, dstOffset, count);
  codecs[format].decode(src, srcOffset, dst, dstOffset, count);
}

/**
 * Encodes `count` floats from element `srcOffset` of `src` as `format` into `dst` from byte `dstOffset`, with the
 * rounding of ggml's reference quantisers: same method; same bytes for all but the K formats.
 * @param importance weight of each column of a row [row length], from an importance matrix; finite, ≥ 0. `count` must
 * then be whole rows. Formats without a choice (f16, q8_0, …) ignore it.
 * @throws FormatError BAD_LENGTH as `decode`.
 */
export function encode(
  format: WritableFormat,
  src: Float32Array,
  srcOffset: number,
  dst: Uint8Array,
  dstOffset: number,
  count: number,
  importance?: Float32Array,
): void {
  checkSpan(format, dst, dstOffset, src, srcOffset, count);
  const codec: Codec = codecs[format];
  if (!importance || !codec.encodeWeighted) codec.encode(src, srcOffset, dst, dstOffset, count);
  else encodeRows(format, codec.encodeWeighted, src, srcOffset, dst, dstOffset, count, importance);
}

function encodeRows(
  format: GgufFormat,
  encodeRow: NonNullable<Codec['encodeWeighted']>,
  src: Float32Array,
  srcOffset: number,
  dst: Uint8Array,
  dstOffset: number,
  count: number,
  importance: Float32Array,
): void {
  const rowLength = importance.length;
  const rowBytes = byteLength(format, [rowLength]);
  if (count % rowLength !== 0)
    throw new FormatError(
      'BAD_LENGTH',
      `${count} elements are not whole rows of ${rowLength}, as the importance has`,
    );
  for (let row = 0; row * rowLength < count; row++)
    encodeRow(src, srcOffset + row * rowLength, dst, dstOffset + row * rowBytes, importance);
}

/**
 * Rows `[first, first + rows)` of a matrix, as floats.
 * @param src the whole matrix, as stored
 * @param rowLength elements per row, a whole number of blocks
 * @throws FormatError BAD_LENGTH as `decode`.
 */
export function decodeRows(
  format: GgufFormat,
  src: Uint8Array,
  rowLength: number,
  first: number,
  rows: number,
): Float32Array {
  const rowBytes = byteLength(format, [rowLength]);
  if (!(first >= 0 && rows >= 0 && (first + rows) * rowBytes <= src.length)) {
    const held = Math.floor(src.length / rowBytes);
    throw new FormatError(
      'BAD_LENGTH',
      `rows ${first} to ${first + rows} asked for; ${src.length} bytes hold ${held} rows`,
    );
  }
  const dst = new Float32Array(rows * rowLength); // [rows, rowLength]
  decode(format, src, first * rowBytes, dst, 0, dst.length);
  return dst;
}

/** Encodes all of `src`, without an importance matrix. @throws FormatError BAD_LENGTH if `src` is not whole blocks. */
export function encodeAll(format: WritableFormat, src: Float32Array): Uint8Array {
  const dst = new Uint8Array(Math.ceil(src.length / formats[format].blockSize) * formats[format].blockBytes);
  encode(format, src, 0, dst, 0, src.length);
  return dst;
}

function checkSpan(
  format: GgufFormat,
  blocks: Uint8Array,
  blocksAt: number,
  floats: Float32Array,
  floatsAt: number,
  count: number,
): void {
  const { blockSize, blockBytes } = formats[format];
  const bytes = (count / blockSize) * blockBytes;
  if (!(count >= 0) || count % blockSize !== 0) {
    throw new FormatError(
      'BAD_LENGTH',
      `${count} elements are not a whole number of ${format} blocks of ${blockSize}`,
    );
  }
  checkRoom(`${bytes} bytes of ${format}`, blocks.length, blocksAt, bytes);
  checkRoom(`${count} floats`, floats.length, floatsAt, count);
}

function checkRoom(what: string, length: number, at: number, needed: number): void {
  if (Number.isInteger(at) && at >= 0 && at + needed <= length) return;
  throw new FormatError('BAD_LENGTH', `${what} at offset ${at} do not fit an array of ${length}`);
}
