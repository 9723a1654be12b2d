import { readF16, readU32 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq2xxsGrid } from './iq-grids.js';
import { evenSigns, putEight } from './iq-points.js';

const blockSize = 256;
const blockBytes = 66;

/** The scale is the upper nibble of a group's 8 bytes. */
export const iq2_xxsFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at) / 8,
  scale: (src, at, g) => 2 * (src[at + 9 + 8 * (g >> 1)]! >> 4) + 1,
};
const factors = iq2_xxsFactors;

/**
 * Points of 8 values, 8 groups of 32 with their own scale: `x = d * (scale + 1/2) / 4 * ±point`.
 * Block: f16 d, then per group 4 bytes of grid indices and 32 bits: 7 bits of signs per point, 4 bits of scale.
 */
export const iq2_xxs: Decoder = {
  layout: { typeId: 16, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let g = 0; g < 8; g++) {
        const points = at + 2 + 8 * g;
        const signsAndScale = readU32(src, points + 4);
        const scale = unit * factors.scale(src, at, 2 * g);
        for (let p = 0; p < 4; p++) {
          const signs = evenSigns[(signsAndScale >>> (7 * p)) & 127]!;
          putEight(dst, to + 32 * g + 8 * p, iq2xxsGrid, 8 * src[points + p]!, signs, scale);
        }
      }
    }
  },
};
