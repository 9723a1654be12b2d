import { f16ToF32, f32ToF16 } from '@quern/core';

/** The f16 at a byte offset, even or odd. */
export function readF16(src: Uint8Array, offset: number): number {
  return f16ToF32(src[offset]! | (src[offset + 1]! << 8));
}

/** Stores `value` as an f16 at a byte offset. */
export function writeF16(dst: Uint8Array, offset: number, value: number): void {
  const half = f32ToF16(value);
  dst[offset] = half & 0xff;
  dst[offset + 1] = half >> 8;
}

/** The little-endian uint32 at a byte offset. */
export function readU32(src: Uint8Array, offset: number): number {
  return (src[offset]! | (src[offset + 1]! << 8) | (src[offset + 2]! << 16) | (src[offset + 3]! << 24)) >>> 0;
}

/** Stores a uint32 at a byte offset, little-endian. */
export function writeU32(dst: Uint8Array, offset: number, value: number): void {
  dst[offset] = value & 0xff;
  dst[offset + 1] = (value >>> 8) & 0xff;
  dst[offset + 2] = (value >>> 16) & 0xff;
  dst[offset + 3] = value >>> 24;
}
