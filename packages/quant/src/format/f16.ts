import { readF16, writeF16 } from './bytes.js';
import type { Codec } from './codec.js';

/** IEEE binary16. */
export const f16: Codec = {
  layout: { typeId: 1, blockSize: 1, blockBytes: 2 },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let i = 0; i < count; i++) dst[dstOffset + i] = readF16(src, srcOffset + 2 * i);
  },
  encode(src, srcOffset, dst, dstOffset, count) {
    for (let i = 0; i < count; i++) writeF16(dst, dstOffset + 2 * i, src[srcOffset + i]!);
  },
};
