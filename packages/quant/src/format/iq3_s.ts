import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq3sGrid } from './iq-grids.js';
import { putFours } from './iq-points.js';

const blockSize = 256;
const blockBytes = 110;
const lowIndex = 2; // byte offsets in the block
const highIndex = 66;
const signs = 74;
const scales = 106;

export const iq3_sFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at),
  scale: (src, at, g) => 2 * ((src[at + scales + (g >> 2)]! >> (4 * ((g >> 1) & 1))) & 15) + 1,
};
const factors = iq3_sFactors;

/**
 * Points of 4 values, 8 groups of 32 with their own scale: `x = d * (2 * scale + 1) * ±point`.
 * Block: f16 d, 64 bytes of grid indices, their ninth bits (8 bytes), 32 bytes of signs, 4 bytes of scales, low nibble first.
 */
export const iq3_s: Decoder = {
  layout: { typeId: 21, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let pair = 0; pair < 32; pair++) {
        const g = pair >> 2;
        const scale = unit * factors.scale(src, at, 2 * g);
        const ninth = src[at + highIndex + g]! >> (2 * (pair & 3));
        const first = src[at + lowIndex + 2 * pair]! | ((ninth & 1) << 8);
        const second = src[at + lowIndex + 2 * pair + 1]! | ((ninth & 2) << 7);
        putFours(dst, to + 8 * pair, iq3sGrid, 4 * first, 4 * second, src[at + signs + pair]!, scale);
      }
    }
  },
};
