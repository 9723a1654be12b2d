import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { meanSquare, weigh } from './importance.js';
import { readSignedScale, writeSignedScales } from './k-scales.js';
import { fitByDescent, type SymmetricBlock, symmetricEncoder } from './k-symmetric.js';

const blockSize = 256;
const blockBytes = 110;
const thirdBits = 0; // byte offsets in the block
const quants = 32;
const scalesAt = 96;
const dAt = 108;
const groupSize = 16;
const f = Math.fround;

/**
 * 3 bits about zero, 16 groups of 16 with their own scale: `x = d * scale * (q - 4)`.
 * Block: 32 bytes of third bits (group g: bit g / 2 of bytes 16 * (g & 1)), 64 bytes of low pairs as q2_k, 12 bytes scales, f16 d.
 */
export const q3_k: Codec = {
  layout: { typeId: 11, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      for (let g = 0; g < 16; g++) {
        const scale = f(d * readSignedScale(src, at + scalesAt, g));
        const bytes = at + quants + 32 * (g >> 3) + 16 * (g & 1);
        const third = at + thirdBits + 16 * (g & 1);
        const shift = 2 * ((g >> 1) & 3);
        for (let l = 0; l < groupSize; l++) {
          const q = ((src[bytes + l]! >> shift) & 3) | (((src[third + l]! >> (g >> 1)) & 1) << 2);
          dst[to + groupSize * g + l] = scale * (q - 4);
        }
      }
    }
  },

  encode(src, srcOffset, dst, dstOffset, count) {
    encodeBlocks(src, srcOffset, count, (block, i) => writeBlock(dst, dstOffset + i * blockBytes, block));
  },

  encodeWeighted(src, srcOffset, dst, dstOffset, importance) {
    const write = (block: SymmetricBlock, i: number) => writeBlock(dst, dstOffset + i * blockBytes, block);
    encodeBlocks(src, srcOffset, importance.length, write, importance);
  },
};

const encodeBlocks = symmetricEncoder({
  top: 4,
  scaleTop: 32,
  fit: fitByDescent,
  weigh: (x, importance, column, weights) => {
    for (let at = 0; at < x.length; at += blockSize)
      weigh(x, at, importance, column + at, 2 * meanSquare(x, at, blockSize), weights, at, blockSize);
  },
  fitsScales: true,
});

function writeBlock(dst: Uint8Array, at: number, block: SymmetricBlock): void {
  dst.fill(0, at, at + blockBytes);
  for (let g = 0; g < 16; g++) {
    const bytes = at + quants + 32 * (g >> 3) + 16 * (g & 1);
    const third = at + thirdBits + 16 * (g & 1);
    const shift = 2 * ((g >> 1) & 3);
    for (let l = 0; l < groupSize; l++) {
      const q = block.q[groupSize * g + l]! + 4;
      dst[bytes + l]! |= (q & 3) << shift;
      dst[third + l]! |= (q >> 2) << (g >> 1);
    }
  }
  writeSignedScales(dst, at + scalesAt, block.scales);
  writeF16(dst, at + dAt, block.d);
}
