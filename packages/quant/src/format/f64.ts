import type { Codec } from './codec.js';

/** IEEE binary64, rounded to the nearest f32. */
export const f64: Codec = {
  layout: { typeId: 28, blockSize: 1, blockBytes: 8 },

  decode(src, srcOffset, dst, dstOffset, count) {
    const view = new DataView(src.buffer, src.byteOffset + srcOffset, 8 * count);
    for (let i = 0; i < count; i++) dst[dstOffset + i] = view.getFloat64(8 * i, true);
  },
  encode(src, srcOffset, dst, dstOffset, count) {
    const view = new DataView(dst.buffer, dst.byteOffset + dstOffset, 8 * count);
    for (let i = 0; i < count; i++) view.setFloat64(8 * i, src[srcOffset + i]!, true);
  },
};
