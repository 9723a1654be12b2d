import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { type AffineBlock, affineEncoder } from './k-affine.js';
import { readMin, readScale, writeScalesAndMins } from './k-scales.js';

const blockSize = 256;
const blockBytes = 144;
const dAt = 0; // byte offsets in the block
const dminAt = 2;
const scalesAt = 4;
const quants = 16;
const groupSize = 32;
const f = Math.fround;

/**
 * 4 bits, 8 groups of 32 with their own scale and minimum: `x = d * scale * q - dmin * min`.
 * Block: f16 d, f16 dmin, 12 bytes scales and minimums, 128 bytes q (group g: bytes 32 * (g / 2), low nibble for even
 * g).
 */
export const q4_k: Codec = {
  layout: { typeId: 12, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      const dmin = readF16(src, at + dminAt);
      for (let g = 0; g < 8; g++) {
        const scale = f(d * readScale(src, at + scalesAt, g));
        const min = f(dmin * readMin(src, at + scalesAt, g));
        const bytes = at + quants + 32 * (g >> 1);
        const shift = 4 * (g & 1);
        for (let l = 0; l < groupSize; l++) {
          dst[to + groupSize * g + l] = f(scale * ((src[bytes + l]! >> shift) & 15)) - min;
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
  top: 15,
  scaleTop: 63,
  weights: 'rms + magnitude',
  search: { first: -1, step: 0.1, steps: 20, error: 'squared' },
  variances: 2,
});

function writeBlock(dst: Uint8Array, at: number, block: AffineBlock): void {
  dst.fill(0, at, at + blockBytes);
  writeF16(dst, at + dAt, block.d);
  writeF16(dst, at + dminAt, block.dmin);
  writeScalesAndMins(dst, at + scalesAt, block.scales, block.mins);
  for (let i = 0; i < blockSize; i++) {
    const g = i >> 5;
    dst[at + quants + 32 * (g >> 1) + (i & 31)]! |= block.q[i]! << (4 * (g & 1));
  }
}
