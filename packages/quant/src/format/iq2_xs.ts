import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import { formats } from './formats.js';
import { iq2xsGrid } from './iq-grids.js';
import { evenSigns, putEight } from './iq-points.js';

const { blockSize, blockBytes } = formats.iq2_xs;
const points = 2; // byte offsets in the block
const scales = 66;

/**
 * Points of 8 values, 16 groups of 16 with their own scale: `x = d * (scale + 1/2) / 4 * ±point`.
 * Block: f16 d, 16 bits for each point (9 index the grid, 7 are signs), 8 bytes of scales, low nibble first.
 */
export const iq2_xs: Decoder = {
  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let p = 0; p < 32; p++) {
        const low = src[at + points + 2 * p]!;
        const high = src[at + points + 2 * p + 1]!;
        const scale = (d * (((src[at + scales + (p >> 2)]! >> (4 * ((p >> 1) & 1))) & 15) + 0.5)) / 4;
        putEight(dst, to + 8 * p, iq2xsGrid, 8 * (low | ((high & 1) << 8)), evenSigns[high >> 1]!, scale);
      }
    }
  },
};
