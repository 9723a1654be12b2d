import { readF16, readU32, writeF16, writeU32 } from './bytes.js';
import type { Codec } from './codec.js';
import { signedMax } from './extremes.js';
import { fitRowScales } from './weighted-row.js';

const blockSize = 32;
const blockBytes = 22;
const half = blockSize / 2;
const f = Math.fround;

/** 5 bits about zero: `x = (q - 16) * d`. Block: f16 d, 32 bits of fifth bits (bit j of element j), 16 bytes of low nibbles as q4_0. */
export const q5_0: Codec = {
  layout: { typeId: 6, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      const fifth = readU32(src, at + 2);
      for (let j = 0; j < half; j++) {
        const q = src[at + 6 + j]!;
        dst[to + j] = (((q & 15) | (((fifth >>> j) & 1) << 4)) - 16) * d;
        dst[to + half + j] = (((q >> 4) | (((fifth >>> (j + half)) & 1) << 4)) - 16) * d;
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = dstOffset, from = srcOffset;
      from < srcOffset + count;
      at += blockBytes, from += blockSize
    ) {
      const d = f(signedMax(src, from, blockSize) / -16);
      writeBlock(src, from, dst, at, d, d === 0 ? 0 : f(1 / d));
    }
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const { scales, inverses } = fitRowScales(src, srcOffset, importance, blockSize, 16);
    for (let i = 0; i < scales.length; i++)
      writeBlock(src, srcOffset + i * blockSize, dst, dstOffset + i * blockBytes, scales[i]!, inverses[i]!);
  },
};

function writeBlock(
  src: Float32Array,
  from: number,
  dst: Uint8Array,
  at: number,
  d: number,
  inverse: number,
): void {
  let fifth = 0;
  for (let j = 0; j < half; j++) {
    const low = quantise(src[from + j]!, inverse);
    const high = quantise(src[from + half + j]!, inverse);
    dst[at + 6 + j] = (low & 15) | ((high & 15) << 4);
    fifth |= ((low >> 4) << j) | ((high >> 4) << (j + half));
  }
  writeF16(dst, at, d);
  writeU32(dst, at + 2, fifth);
}

function quantise(x: number, inverse: number): number {
  return Math.min(31, Math.max(0, Math.trunc(f(f(x * inverse) + 16.5))));
}
