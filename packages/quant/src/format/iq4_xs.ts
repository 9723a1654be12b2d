import { readF16 } from './bytes.js';
import { iq4Values } from './codebooks.js';
import type { Codec } from './codec.js';
import { writeIq4Xs } from './iq4-encode.js';

const blockSize = 256;
const blockBytes = 136;
const dAt = 0; // byte offsets in the block
const highScales = 2;
const lowScales = 4;
const quants = 8;
const half = 16; // of a group

/**
 * iq4_nl with 8 groups of 32 with their own scale: `x = d * scale * values[q]`, scales -32..31.
 * Block: f16 d, upper pairs of the scales (group g: bits 2 * g of 16), their low nibbles (4 bytes), 16 bytes q per
 * group as q4_0.
 */
export const iq4_xs: Codec = {
  layout: { typeId: 23, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      for (let g = 0; g < 8; g++) {
        const scale = d * readGroupScale(src, at, g);
        const bytes = at + quants + half * g;
        for (let j = 0; j < half; j++) {
          const q = src[bytes + j]!;
          dst[to + 2 * half * g + j] = scale * iq4Values[q & 15]!;
          dst[to + 2 * half * g + half + j] = scale * iq4Values[q >> 4]!;
        }
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    for (let at = dstOffset, from = srcOffset; from < srcOffset + count; at += blockBytes, from += blockSize)
      writeIq4Xs(src, from, dst, at);
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    for (let at = dstOffset, column = 0; column < importance.length; at += blockBytes, column += blockSize)
      writeIq4Xs(src, srcOffset + column, dst, at, importance, column);
  },
};

function readGroupScale(src: Uint8Array, at: number, g: number): number {
  const low = (src[at + lowScales + (g >> 1)]! >> (4 * (g & 1))) & 15;
  const high = (src[at + highScales + (g >> 2)]! >> (2 * (g & 3))) & 3;
  return (low | (high << 4)) - 32;
}
