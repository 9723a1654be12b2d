import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { signedMax } from './extremes.js';
import { fitRowScales } from './weighted-row.js';

const blockSize = 32;
const blockBytes = 18;
const half = blockSize / 2;
const f = Math.fround;

/** 4 bits about zero: `x = (q - 8) * d`. Block: f16 d, 16 bytes q (element j low nibble, element j + 16 high nibble). */
export const q4_0: Codec = {
  layout: { typeId: 2, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let j = 0; j < half; j++) {
        const q = src[at + 2 + j]!;
        dst[to + j] = ((q & 15) - 8) * d;
        dst[to + half + j] = ((q >> 4) - 8) * d;
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (
      let at = dstOffset, from = srcOffset;
      from < srcOffset + count;
      at += blockBytes, from += blockSize
    ) {
      const d = f(signedMax(src, from, blockSize) / -8);
      writeBlock(src, from, dst, at, d, d === 0 ? 0 : f(1 / d));
    }
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const { scales, inverses } = fitRowScales(src, srcOffset, importance, blockSize, 8);
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
  writeF16(dst, at, d);
  for (let j = 0; j < half; j++) {
    const low = quantise(src[from + j]!, inverse);
    const high = quantise(src[from + half + j]!, inverse);
    dst[at + 2 + j] = low | (high << 4);
  }
}

function quantise(x: number, inverse: number): number {
  return Math.min(15, Math.max(0, Math.trunc(f(f(x * inverse) + 8.5))));
}
