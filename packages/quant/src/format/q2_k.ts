import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { type AffineBlock, affineEncoder } from './k-affine.js';

const blockSize = 256;
const blockBytes = 84;
const quants = 16; // byte offsets in the block, after 16 bytes of scales
const dAt = 80;
const dminAt = 82;
const groupSize = 16;
const f = Math.fround;

/**
 * 2 bits, 16 groups of 16 with their own scale and minimum: `x = d * scale * q - dmin * min`.
 * Block: 16 bytes (scale low nibble, min high nibble), 64 bytes q, f16 d, f16 dmin.
 * Group g: bytes 32 * (g / 8) + 16 * (g & 1) of q, bits 2 * (g / 2 & 3).
 */
export const q2_k: Codec = {
  layout: { typeId: 10, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      const dmin = readF16(src, at + dminAt);
      for (let g = 0; g < 16; g++) {
        const scale = f(d * (src[at + g]! & 15));
        const min = f(dmin * (src[at + g]! >> 4));
        const bytes = at + quants + 32 * (g >> 3) + 16 * (g & 1);
        const shift = 2 * ((g >> 1) & 3);
        for (let l = 0; l < groupSize; l++) {
          dst[to + groupSize * g + l] = f(scale * ((src[bytes + l]! >> shift) & 3)) - min;
        }
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    encodeBlocks(src, srcOffset, count, (block, i) => writeBlock(dst, dstOffset + i * blockBytes, block));
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const write = (block: AffineBlock, i: number) => writeBlock(dst, dstOffset + i * blockBytes, block);
    encodeBlocks(src, srcOffset, importance.length, write, importance);
  },
};

const encodeBlocks = affineEncoder({
  groupSize,
  top: 3,
  scaleTop: 15,
  weights: 'magnitude',
  search: { first: -0.5, step: 0.1, steps: 15, error: 'absolute' },
  variances: 1,
});

function writeBlock(dst: Uint8Array, at: number, block: AffineBlock): void {
  dst.fill(0, at, at + blockBytes);
  for (let g = 0; g < 16; g++) {
    dst[at + g] = block.scales[g]! | (block.mins[g]! << 4);
    const bytes = at + quants + 32 * (g >> 3) + 16 * (g & 1);
    const shift = 2 * ((g >> 1) & 3);
    for (let l = 0; l < groupSize; l++) dst[bytes + l]! |= block.q[groupSize * g + l]! << shift;
  }
  writeF16(dst, at + dAt, block.d);
  writeF16(dst, at + dminAt, block.dmin);
}
