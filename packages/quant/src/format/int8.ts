import { f16ToF32, f32ToF16 } from '@quern/core';
import { writeF16 } from './bytes.js';
import { signedMax } from './extremes.js';
import { q8_0 } from './q8_0.js';

const { blockSize, blockBytes } = q8_0.layout;

/** Columns with one shared scale, as in backend-cpu's products of many rows. */
const shared = 256;

/**
 * Encodes rows of floats as q8_0 blocks with one shared scale, max|x| / 127, per 256 columns of a row (fewer at its
 * end). Kernels for many rows need one scale per 256 columns: they use these weights unchanged. Blocks with different
 * scales are rounded again.
 * @param src [rows, rowLength], whole rows of whole blocks
 * @param dst exactly the bytes of these q8_0 blocks
 */
export function encodeInt8(src: Float32Array, rowLength: number, dst: Uint8Array): void {
  for (let row = 0; row < src.length; row += rowLength)
    for (let column = 0; column < rowLength; column += shared)
      encodeShared(src, row + column, Math.min(shared, rowLength - column), dst);
}

/** `count` floats from `from` on, into their place in `dst`. */
function encodeShared(src: Float32Array, from: number, count: number, dst: Uint8Array): void {
  const d = f16ToF32(f32ToF16(Math.abs(signedMax(src, from, count)) / 127));
  const inverse = d === 0 ? 0 : 1 / d;
  for (let i = from; i < from + count; i += blockSize) {
    const at = (i / blockSize) * blockBytes;
    writeF16(dst, at, d);
    for (let j = 0; j < blockSize; j++)
      dst[at + 2 + j] = Math.max(-127, Math.min(127, Math.round(src[i + j]! * inverse)));
  }
}
