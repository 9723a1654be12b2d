import { f16ToF32 } from '@quern/core';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq1sGrid } from './iq-grids.js';

const blockSize = 256;
const blockBytes = 56;
const lowIndex = 0; // byte offsets in the block
const pointBits = 32;
const scales = 48;

export const iq1_mFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readD(src, at + scales) / 8,
  scale: (src, at, g) => 2 * readGroupScale(src, at + scales, g) + 1,
};
const factors = iq1_mFactors;

/**
 * Points of 8 ternary values as in iq1_s, 16 groups of 16 with their own scale, one offset per point.
 * Block: 32 bytes of grid indices; 4 bits per point (3 upper bits of its index, the sign of its offset); 4 words of 16
 * bits: 4 scales of 3 bits each, and in the upper nibbles, lowest first, the f16 d.
 */
export const iq1_m: Decoder = {
  layout: { typeId: 29, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let p = 0; p < 32; p++) {
        const bits = src[at + pointBits + (p >> 1)]! >> (4 * (p & 1));
        const scale = unit * factors.scale(src, at, p >> 1);
        const offset = bits & 8 ? -1 : 1;
        const point = src[at + lowIndex + p]! | ((bits & 7) << 8);
        for (let j = 0; j < 8; j++) dst[to + 8 * p + j] = scale * (8 * iq1sGrid[8 * point + j]! + offset);
      }
    }
  },
};

function readD(src: Uint8Array, at: number): number {
  let half = 0;
  for (let word = 0; word < 4; word++) half |= (src[at + 2 * word + 1]! >> 4) << (4 * word);
  return f16ToF32(half);
}

/** The scale of group `g` (0..15), 0..7. */
function readGroupScale(src: Uint8Array, at: number, g: number): number {
  const word = at + 2 * (g >> 2);
  return ((src[word]! | (src[word + 1]! << 8)) >> (3 * (g & 3))) & 7;
}
