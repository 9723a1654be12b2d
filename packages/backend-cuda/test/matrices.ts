// Weights of all formats, as bytes and as numbers.
import type { knownCodecs } from '@quern/conformance';
import type { Backend, WeightFormat } from '@quern/core';
import { random } from '@quern/core/testing';

export interface Matrix {
  readonly format: WeightFormat;
  readonly bytes: Uint8Array;
  readonly values: Float32Array;
}

/** Between −1 and 1. */
export function uniform(count: number, seed: number): Float32Array {
  const next = random(seed);
  return Float32Array.from({ length: count }, () => 2 * next() - 1);
}

/** [rows, width], with the upper half of f32 as bf16. */
export function bf16Matrix(rows: number, width: number, seed: number): Matrix {
  const words = new Uint32Array(uniform(rows * width, seed).buffer).map((word) => word & 0xffff0000);
  const bytes = new Uint8Array(Uint16Array.from(words, (word) => word >>> 16).buffer);
  return { format: 'bf16', bytes, values: new Float32Array(words.buffer) };
}

/** `count` values in blocks with moderate values, out of 31. */
export function blockMatrix(codec: (typeof knownCodecs)[0], count: number): Matrix {
  const { format, blockSize, blockBytes, decode } = codec;
  const next = random(3);
  let last = new Uint8Array(blockBytes);
  const blocks: Uint8Array[] = [];
  while (blocks.length < 31) {
    const block = last.map((byte) => (next() < 0.5 ? 256 * next() : byte));
    if (!decode(block, blockSize).every((value) => Math.abs(value) < 16)) continue;
    blocks.push(block);
    last = block;
  }
  const bytes = new Uint8Array((count * blockBytes) / blockSize);
  for (let i = 0; i < bytes.length / blockBytes; i++) bytes.set(blocks[i % 31]!, i * blockBytes);
  return { format, bytes, values: decode(bytes, count) };
}

export const load = (backend: Backend, { format, bytes }: Matrix, shape: readonly number[]) =>
  backend.loadWeight({ name: 'w', shape, format, bytes });
