import type { Decoder } from './codec.js';

/** Signed little-endian integers as numbers, rounded to the nearest f32. */
const integers = (typeId: number, bytes: number, read: (view: DataView, at: number) => number): Decoder => ({
  layout: { typeId, blockSize: 1, blockBytes: bytes },
  decode(src, srcOffset, dst, dstOffset, count) {
    const view = new DataView(src.buffer, src.byteOffset + srcOffset, bytes * count);
    for (let i = 0; i < count; i++) dst[dstOffset + i] = read(view, bytes * i);
  },
});

export const i8 = integers(24, 1, (view, at) => view.getInt8(at));
export const i16 = integers(25, 2, (view, at) => view.getInt16(at, true));
export const i32 = integers(26, 4, (view, at) => view.getInt32(at, true));
export const i64 = integers(27, 8, (view, at) => Number(view.getBigInt64(at, true)));
