import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';
import { fitByScan, type SymmetricBlock, symmetricEncoder } from './k-symmetric.js';

const blockSize = 256;
const blockBytes = 210;
const highPairs = 128; // byte offsets in the block, after 128 bytes of low nibbles
const scalesAt = 192;
const dAt = 208;
const groupSize = 16;
const f = Math.fround;

/**
 * 6 bits about zero, 16 groups of 16 with their own scale: `x = d * scale * (q - 32)`.
 * Block: 128 bytes of low nibbles, 64 bytes of high pairs, 16 int8 scales, f16 d. Group g, with quarter = g / 2 & 3:
 * low nibbles in bytes 64 * (g / 8) + 32 * (quarter & 1) + 16 * (g & 1), low half if quarter < 2;
 * high pairs in bytes 32 * (g / 8) + 16 * (g & 1), bits 2 * quarter.
 */
export const q6_k: Codec = {
  layout: { typeId: 14, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      for (let g = 0; g < 16; g++) {
        const scale = f(d * ((src[at + scalesAt + g]! << 24) >> 24));
        const quarter = (g >> 1) & 3;
        const low = at + 64 * (g >> 3) + 32 * (quarter & 1) + 16 * (g & 1);
        const lowShift = 4 * (quarter >> 1);
        const high = at + highPairs + 32 * (g >> 3) + 16 * (g & 1);
        for (let l = 0; l < groupSize; l++) {
          const q = ((src[low + l]! >> lowShift) & 15) | (((src[high + l]! >> (2 * quarter)) & 3) << 4);
          dst[to + groupSize * g + l] = scale * (q - 32);
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
  top: 32,
  scaleTop: 128,
  fit: fitByScan,
  weigh: (x, importance, column, weights) => {
    for (let i = 0; i < x.length; i++) weights[i] = importance[column + i]!;
  },
  fitsScales: false,
});

function writeBlock(dst: Uint8Array, at: number, block: SymmetricBlock): void {
  dst.fill(0, at, at + blockBytes);
  for (let g = 0; g < 16; g++) {
    const quarter = (g >> 1) & 3;
    const low = at + 64 * (g >> 3) + 32 * (quarter & 1) + 16 * (g & 1);
    const high = at + highPairs + 32 * (g >> 3) + 16 * (g & 1);
    for (let l = 0; l < groupSize; l++) {
      const q = block.q[groupSize * g + l]! + 32;
      dst[low + l]! |= (q & 15) << (4 * (quarter >> 1));
      dst[high + l]! |= (q >> 4) << (2 * quarter);
    }
  }
  dst.set(new Uint8Array(block.scales.buffer), at + scalesAt);
  writeF16(dst, at + dAt, block.d);
}
