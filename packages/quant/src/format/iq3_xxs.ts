import { readF16, readU32 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';
import { iq3xxsGrid } from './iq-grids.js';
import { evenSigns, putFours } from './iq-points.js';

const blockSize = 256;
const blockBytes = 98;
const points = 2; // byte offsets in the block
const signsAndScales = 66;

export const iq3_xxsFactors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at) / 4,
  scale: (src, at, g) => 2 * (src[at + signsAndScales + 4 * (g >> 1) + 3]! >> 4) + 1,
};
const factors = iq3_xxsFactors;

/**
 * Points of 4 values, 8 groups of 32 with their own scale: `x = d * (scale + 1/2) / 2 * ±point`.
 * Block: f16 d, 64 bytes of grid indices, 32 bits per group: 7 bits of signs per pair of points, 4 bits of scale.
 */
export const iq3_xxs: Decoder = {
  layout: { typeId: 18, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const unit = factors.unit(src, at);
      for (let g = 0; g < 8; g++) {
        const word = readU32(src, at + signsAndScales + 4 * g);
        const scale = unit * factors.scale(src, at, 2 * g);
        for (let pair = 0; pair < 4; pair++) {
          const first = at + points + 8 * g + 2 * pair;
          const signs = evenSigns[(word >>> (7 * pair)) & 127]!;
          putFours(
            dst,
            to + 32 * g + 8 * pair,
            iq3xxsGrid,
            4 * src[first]!,
            4 * src[first + 1]!,
            signs,
            scale,
          );
        }
      }
    }
  },
};
