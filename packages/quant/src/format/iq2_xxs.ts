import { readF16, readU32 } from './bytes.js';
import type { Decoder } from './codec.js';
import { formats } from './formats.js';
import { iq2xxsGrid } from './iq-grids.js';
import { evenSigns, putEight } from './iq-points.js';

const { blockSize, blockBytes } = formats.iq2_xxs;

/**
 * Points of 8 values, 8 groups of 32 with their own scale: `x = d * (scale + 1/2) / 4 * ±point`.
 * Block: f16 d, then for each group 4 bytes that index the grid and 32 bits: 7 bits of signs for each point, 4 bits of scale.
 */
export const iq2_xxs: Decoder = {
  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let g = 0; g < 8; g++) {
        const points = at + 2 + 8 * g;
        const signsAndScale = readU32(src, points + 4);
        const scale = (d * ((signsAndScale >>> 28) + 0.5)) / 4;
        for (let p = 0; p < 4; p++) {
          const signs = evenSigns[(signsAndScale >>> (7 * p)) & 127]!;
          putEight(dst, to + 32 * g + 8 * p, iq2xxsGrid, 8 * src[points + p]!, signs, scale);
        }
      }
    }
  },
};
