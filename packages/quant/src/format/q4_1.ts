import { fitAffine, weightedSearch } from './affine-fit.js';
import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { range } from './extremes.js';
import { formats } from './formats.js';
import { meanSquare, weigh } from './importance.js';

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
      for (let j = 0; j < blockSize; j++) levels[j] = quantise(src[from + j]!, min, inverse);
      writeBlock(dst, at, d, min);
    }
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const variance = meanSquare(src, srcOffset, importance.length);
    for (let at = dstOffset, column = 0; column < importance.length; at += blockBytes, column += blockSize) {
      const group = { x: src, at: srcOffset + column, size: blockSize, weights };
      weigh(src, group.at, importance, column, variance, weights);
      const { scale, lift } = fitAffine(group, 15, weightedSearch, levels, 0);
      writeBlock(dst, at, scale, -lift);
    }
  },
};

const weights = new Float64Array(blockSize);
const levels = new Uint8Array(blockSize);

/** Writes a block of what is in `levels`. */
function writeBlock(dst: Uint8Array, at: number, d: number, min: number): void {
  writeF16(dst, at, d);
  writeF16(dst, at + 2, min);
  for (let j = 0; j < half; j++) dst[at + 4 + j] = levels[j]! | (levels[half + j]! << 4);
}

function quantise(x: number, min: number, inverse: number): number {
  return Math.min(15, Math.trunc(f(f(f(x - min) * inverse) + 0.5)));
}
