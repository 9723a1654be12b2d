import { fp4Values } from './codebooks.js';
import type { Codec } from './codec.js';
import { signedMax } from './extremes.js';

const blockSize = 32;
const blockBytes = 17;
const half = blockSize / 2;

/** 4-bit floats times a power of two: `x = 2^(e - 128) * values[q]`. Block: a byte e, 16 bytes q as q4_0. */
export const mxfp4: Codec = {
  layout: { typeId: 39, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = 2 ** (src[at]! - 128); // half of E8M0, because the values are doubled
      for (let j = 0; j < half; j++) {
        const q = src[at + 1 + j]!;
        dst[to + j] = d * fp4Values[q & 15]!;
        dst[to + half + j] = d * fp4Values[q >> 4]!;
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = dstOffset, from = srcOffset;
      from < srcOffset + count;
      at += blockBytes, from += blockSize
    ) {
      const largest = Math.abs(signedMax(src, from, blockSize));
      dst[at] = largest > 0 ? Math.floor(Math.fround(Math.log2(largest))) - 2 + 127 : 0;
      const d = 2 ** (dst[at]! - 128);
      for (let j = 0; j < half; j++)
        dst[at + 1 + j] = nearest(src[from + j]!, d) | (nearest(src[from + half + j]!, d) << 4);
    }
  },
};

/** The first of the nearest values. */
function nearest(x: number, d: number): number {
  let best = 0;
  for (let q = 1; q < 16; q++)
    if (Math.abs(d * fp4Values[q]! - x) < Math.abs(d * fp4Values[best]! - x)) best = q;
  return best;
}
