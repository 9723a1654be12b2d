import { bf16ToF32, f32ToBf16 } from '@quern/core';
import type { Codec } from './codec.js';

/** bfloat16: the upper half of a binary32. */
export const bf16: Codec = {
  layout: { typeId: 30, blockSize: 1, blockBytes: 2 },

  decode(src, srcOffset, dst, dstOffset, count) {
    for (let i = 0; i < count; i++) {
      const at = srcOffset + 2 * i;
      dst[dstOffset + i] = bf16ToF32(src[at]! | (src[at + 1]! << 8));
    }
  },
  encode(src, srcOffset, dst, dstOffset, count) {
    for (let i = 0; i < count; i++) {
      const half = f32ToBf16(src[srcOffset + i]!);
      dst[dstOffset + 2 * i] = half & 0xff;
      dst[dstOffset + 2 * i + 1] = half >> 8;
    }
  },
};
