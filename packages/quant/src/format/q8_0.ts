import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { signedMax } from './extremes.js';

const blockSize = 32;
const blockBytes = 34;
const f = Math.fround;

/** 8 bits about zero: `x = q * d`. Block: f16 d, 32 int8 q. */
export const q8_0: Codec = {
  layout: { typeId: 8, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let j = 0; j < blockSize; j++) dst[to + j] = ((src[at + 2 + j]! << 24) >> 24) * d;
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = dstOffset, from = srcOffset;
      from < srcOffset + count;
      at += blockBytes, from += blockSize
    ) {
      const d = f(Math.abs(signedMax(src, from, blockSize)) / 127);
      const inverse = d === 0 ? 0 : f(1 / d);
      writeF16(dst, at, d);
      for (let j = 0; j < blockSize; j++) dst[at + 2 + j] = roundAwayFromZero(f(src[from + j]! * inverse));
    }
  },
};

/** C's roundf: halves round away from zero. */
function roundAwayFromZero(x: number): number {
  return Math.sign(x) * Math.floor(Math.abs(x) + 0.5);
}
