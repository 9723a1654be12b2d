import type { Codec } from './codec.js';

/** IEEE binary32: the bytes are the values, NaN payloads included. */
export const f32: Codec = {
  layout: { typeId: 0, blockSize: 1, blockBytes: 4 },

  decode(src, srcOffset, dst, dstOffset, count) {
    const to = new Uint8Array(dst.buffer, dst.byteOffset + 4 * dstOffset, 4 * count);
    to.set(src.subarray(srcOffset, srcOffset + 4 * count));
  },
  encode(src, srcOffset, dst, dstOffset, count) {
    dst.set(new Uint8Array(src.buffer, src.byteOffset + 4 * srcOffset, 4 * count), dstOffset);
  },
};
