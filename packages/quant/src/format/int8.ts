import { f16ToF32, f32ToF16 } from '@quern/core';
import { writeF16 } from './bytes.js';
import { signedMax } from './extremes.js';
import { q8_0 } from './q8_0.js';

const { blockSize, blockBytes } = q8_0.layout;

/** Columns that share a scale: as many as backend-cpu's products of many rows give one to. */
const shared = 256;

/**
 * Rows of floats as blocks of q8_0 that share a scale, max |x| / 127, over every 256 columns of a row (fewer at its end). The kernels for
 * many rows, which want one scale for so many, then take the weights as they are; blocks with scales of their own they round again.
 * @param src [rows, rowLength], whole rows of whole blocks
 * @param dst as many bytes as q8_0 takes for them
 */
export function encodeInt8(src: Float32Array, rowLength: number, dst: Uint8Array): void {
  for (let row = 0; row < src.length; row += rowLength)
    for (let column = 0; column < rowLength; column += shared)
      encodeShared(src, row + column, Math.min(shared, rowLength - column), dst);
}

/** `count` floats from `from` on, to the place in `dst` that is theirs. */
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
