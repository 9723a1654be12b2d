import { readF16 } from './bytes.js';
import { iq4Values } from './codebooks.js';
import type { Codec } from './codec.js';
import { writeIq4Nl } from './iq4-encode.js';

const blockSize = 32;
const blockBytes = 18;
const half = blockSize / 2;

/** 4-bit indices of 16 uneven values: `x = d * values[q]`. Block: f16 d, 16 bytes q as q4_0. */
export const iq4_nl: Codec = {
  layout: { typeId: 20, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let j = 0; j < half; j++) {
        const q = src[at + 2 + j]!;
        dst[to + j] = d * iq4Values[q & 15]!;
        dst[to + half + j] = d * iq4Values[q >> 4]!;
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (let at = dstOffset, from = srcOffset; from < srcOffset + count; at += blockBytes, from += blockSize)
      writeIq4Nl(src, from, dst, at);
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    for (let at = dstOffset, column = 0; column < importance.length; at += blockBytes, column += blockSize)
      writeIq4Nl(src, srcOffset + column, dst, at, importance, column);
  },
};
