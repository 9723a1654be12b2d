import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { range } from './extremes.js';
import { formats } from './formats.js';

const { blockSize, blockBytes } = formats.q4_1;
const half = blockSize / 2;
const f = Math.fround;

/** 4 bits above a minimum: `x = q * d + m`. Block: f16 d, f16 m, 16 bytes q (element j low nibble, element j + 16 high nibble). */
export const q4_1: Codec = {
  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      const m = readF16(src, at + 2);
      for (let j = 0; j < half; j++) {
        const q = src[at + 4 + j]!;
        dst[to + j] = f((q & 15) * d) + m;
        dst[to + half + j] = f((q >> 4) * d) + m;
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = dstOffset, from = srcOffset;
      from < srcOffset + count;
      at += blockBytes, from += blockSize
    ) {
      const { min, max } = range(src, from, blockSize);
      const d = f(f(max - min) / 15);
      const inverse = d === 0 ? 0 : f(1 / d);
      writeF16(dst, at, d);
      writeF16(dst, at + 2, min);
      for (let j = 0; j < half; j++) {
        const low = quantise(src[from + j]!, min, inverse);
        const high = quantise(src[from + half + j]!, min, inverse);
        dst[at + 4 + j] = low | (high << 4);
      }
    }
  },
};

function quantise(x: number, min: number, inverse: number): number {
  return Math.min(15, Math.trunc(f(f(f(x - min) * inverse) + 0.5)));
}
