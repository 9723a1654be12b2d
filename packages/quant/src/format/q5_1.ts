import { readF16, readU32, writeF16, writeU32 } from './bytes.js';
import type { Codec } from './codec.js';
import { range } from './extremes.js';
import { fitRowAffine } from './weighted-row.js';

const blockSize = 32;
const blockBytes = 24;
const half = blockSize / 2;
const f = Math.fround;

/** 5 bits above a minimum: `x = q * d + m`. Block: f16 d, f16 m, 32 bits of fifth bits (bit j of element j), 16 bytes of low nibbles as q4_0. */
export const q5_1: Codec = {
  layout: { typeId: 7, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      const m = readF16(src, at + 2);
      const fifth = readU32(src, at + 4);
      for (let j = 0; j < half; j++) {
        const q = src[at + 8 + j]!;
        dst[to + j] = f(((q & 15) | (((fifth >>> j) & 1) << 4)) * d) + m;
        dst[to + half + j] = f(((q >> 4) | (((fifth >>> (j + half)) & 1) << 4)) * d) + m;
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
      const d = f(f(max - min) / 31);
      const inverse = d === 0 ? 0 : f(1 / d);
      for (let j = 0; j < blockSize; j++) scratch[j] = quantise(src[from + j]!, min, inverse);
      writeBlock(dst, at, d, min, scratch);
    }
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const { scales, lifts, levels: all } = fitRowAffine(src, srcOffset, importance, blockSize, 31);
    for (let i = 0; i < scales.length; i++) {
      const levels = all.subarray(i * blockSize, (i + 1) * blockSize);
      writeBlock(dst, dstOffset + i * blockBytes, scales[i]!, -lifts[i]!, levels);
    }
  },
};

const scratch = new Uint8Array(blockSize);

function writeBlock(dst: Uint8Array, at: number, d: number, min: number, levels: Uint8Array): void {
  let fifth = 0;
  for (let j = 0; j < half; j++) {
    const [low, high] = [levels[j]!, levels[half + j]!];
    dst[at + 8 + j] = (low & 15) | ((high & 15) << 4);
    fifth |= ((low >> 4) << j) | ((high >> 4) << (j + half));
  }
  writeF16(dst, at, d);
  writeF16(dst, at + 2, min);
  writeU32(dst, at + 4, fifth);
}

function quantise(x: number, min: number, inverse: number): number {
  return Math.min(31, Math.trunc(f(f(f(x - min) * inverse) + 0.5)));
}
