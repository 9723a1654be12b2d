import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq2sGrid } from './iq-grids.js';
import { putEight } from './iq-points.js';

const blockSize = 256;
const blockBytes = 82;
const lowIndex = 2; // byte offsets in the block
const signs = 34;
const highIndex = 66;
const scales = 74;

export const iq2_sFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at) / 8,
  scale: (src, at, g) => 2 * ((src[at + scales + (g >> 1)]! >> (4 * (g & 1))) & 15) + 1,
};
const factors = iq2_sFactors;

/**
 * Points of 8 values, 16 groups of 16 with their own scale: `x = d * (scale + 1/2) / 4 * ±point`.
 * Block: f16 d, 32 bytes of grid indices, 32 bytes of signs, upper pairs of the indices (8 bytes), 8 bytes of scales, low nibble first.
 */
export const iq2_s: Decoder = {
  layout: { typeId: 22, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let p = 0; p < 32; p++) {
        const high = (src[at + highIndex + (p >> 2)]! >> (2 * (p & 3))) & 3;
        const scale = unit * factors.scale(src, at, p >> 1);
        const point = src[at + lowIndex + p]! | (high << 8);
        putEight(dst, to + 8 * p, iq2sGrid, 8 * point, src[at + signs + p]!, scale);
      }
    }
  },
};
