import { e4m3Values } from '@quern/core';
import { type F8Scales, scaleOf } from '../hugging-face/f8.js';
import type { FormatLayout } from './formats.js';

/**
 * Quern's own format, in memory only: the bytes of E4M3 weights as in their file, `x = scale * e4m3`.
 * Block: f32 scale, 128 bytes. No byte is NaN (0x7f, 0xff), and 256 · scale is finite: kernels shift the exponent.
 */
export const f8Blocks = { name: 'f8', blockSize: 128, blockBytes: 132 } as const satisfies Omit<
  FormatLayout,
  'typeId'
>;

/** Whether each block of a matrix [.., columns] has one scale. */
export const hasF8Blocks = (columns: number, blockColumns: number): boolean =>
  columns % f8Blocks.blockSize === 0 && (blockColumns >= columns || blockColumns % f8Blocks.blockSize === 0);

/**
 * E4M3 elements of a matrix from element `first` on, as blocks. `first`: a multiple of 128. false for a NaN, and for a scale
 * that is not finite or above 2^119: such blocks have no f8 form.
 */
export function toF8Blocks(bytes: Uint8Array, dst: Uint8Array, first: number, scales: F8Scales): boolean {
  const { blockSize, blockBytes } = f8Blocks;
  const view = new DataView(dst.buffer, dst.byteOffset, dst.byteLength);
  for (let at = 0, to = 0; at < bytes.length; at += blockSize, to += blockBytes) {
    const scale = scaleOf(scales, first + at);
    if (!(Math.abs(scale) <= 2 ** 119)) return false;
    const block = bytes.subarray(at, at + blockSize);
    if (block.includes(0x7f) || block.includes(0xff)) return false;
    view.setFloat32(to, scale, true);
    dst.set(block, to + 4);
  }
  return true;
}

/** The first `count` elements, a whole number of blocks. */
export function decodeF8Blocks(src: Uint8Array, count: number): Float32Array {
  const { blockSize, blockBytes } = f8Blocks;
  const view = new DataView(src.buffer, src.byteOffset, src.byteLength);
  return Float32Array.from({ length: count }, (_, i) => {
    const block = Math.floor(i / blockSize) * blockBytes;
    return view.getFloat32(block, true) * e4m3Values[src[block + 4 + (i % blockSize)]!]!;
  });
}
