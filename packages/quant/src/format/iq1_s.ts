import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq1sGrid } from './iq-grids.js';

const blockSize = 256;
const blockBytes = 50;
const lowIndex = 2; // byte offsets in the block
const groupBits = 34;

export const iq1_sFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at) / 8,
  scale: (src, at, g) => 2 * ((src[at + groupBits + 2 * (g >> 1) + 1]! >> 4) & 7) + 1,
};
const factors = iq1_sFactors;

/**
 * Points of 8 ternary values, 8 groups of 32 with their own scale and offset:
 * `x = d * (2 * scale + 1) * (point ± 1/8)`.
 * Block: f16 d, 32 bytes of grid indices, 16 bits per group: 3 upper bits of the index of each point, 3 bits of scale,
 * the sign of the offset.
 */
export const iq1_s: Decoder = {
  layout: { typeId: 19, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let g = 0; g < 8; g++) {
        const bits = src[at + groupBits + 2 * g]! | (src[at + groupBits + 2 * g + 1]! << 8);
        const scale = unit * factors.scale(src, at, 2 * g);
        const offset = bits & 0x8000 ? -1 : 1;
        for (let p = 0; p < 4; p++) {
          const point = src[at + lowIndex + 4 * g + p]! | (((bits >> (3 * p)) & 7) << 8);
          for (let j = 0; j < 8; j++)
            dst[to + 32 * g + 8 * p + j] = scale * (8 * iq1sGrid[8 * point + j]! + offset);
        }
      }
    }
  },
};
