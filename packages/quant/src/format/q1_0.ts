import { readF16 } from './bytes.js';
import type { Decoder } from './codec.js';

const blockSize = 128;
const blockBytes = 18;

/** 1 bit: `x = d` if set, otherwise `-d`. Block: f16 d, 16 bytes (bit j of element j). */
export const q1_0: Decoder = {
  layout: { typeId: 41, blockSize, blockBytes },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let at = srcOffset, to = dstOffset; to < dstOffset + count; at += blockBytes, to += blockSize) {
      const d = readF16(src, at);
      for (let j = 0; j < blockSize; j++) dst[to + j] = (src[at + 2 + (j >> 3)]! >> (j & 7)) & 1 ? d : -d;
    }
  },
};
