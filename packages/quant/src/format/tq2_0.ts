import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';
import type { IqFactors } from './iq-factors.js';

const blockSize = 256;
const blockBytes = 66;
const dAt = 64; // byte offset in the block

export const tq2_0Factors: IqFactors = {
  blockBytes,
  unit: (src, at) => readF16(src, at + dAt),
  scale: () => 1,
};

/**
 * Ternary: `x = (q - 1) * d`.
 * Block: 64 bytes of 2-bit q (128 elements per 32 bytes; a byte holds elements 32 apart), f16 d.
 */
export const tq2_0: Decoder = {
  layout: { typeId: 35, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at + dAt);
      for (let i = 0; i < blockSize; i++) {
        const q = (src[at + 32 * (i >> 7) + (i & 31)]! >> (2 * ((i >> 5) & 3))) & 3;
        dst[to + i] = (q - 1) * d;
      }
    }
  },
};
