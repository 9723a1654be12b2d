import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq2xsGrid } from './iq-grids.js';
import { evenSigns, putEight } from './iq-points.js';

const blockSize = 256;
const blockBytes = 74;
const points = 2; // byte offsets in the block
const scales = 66;

export const iq2_xsFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at) / 8,
  scale: (src, at, g) => 2 * ((src[at + scales + (g >> 1)]! >> (4 * (g & 1))) & 15) + 1,
};
const factors = iq2_xsFactors;

/**
 * Points of 8 values, 16 groups of 16 with their own scale: `x = d * (scale + 1/2) / 4 * ±point`.
 * Block: f16 d, 16 bits per point (9 bits of grid index, 7 bits of signs), 8 bytes of scales, low nibble first.
 */
export const iq2_xs: Decoder = {
  layout: { typeId: 17, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let p = 0; p < 32; p++) {
        const low = src[at + points + 2 * p]!;
        const high = src[at + points + 2 * p + 1]!;
        const scale = unit * factors.scale(src, at, p >> 1);
        putEight(dst, to + 8 * p, iq2xsGrid, 8 * (low | ((high & 1) << 8)), evenSigns[high >> 1]!, scale);
      }
    }
  },
};
