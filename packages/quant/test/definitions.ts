// The formats a second time, for the tests: written from the layout as ggml walks through it, one element after the other.

import { f16ToF32 } from '@quern/core';
import type { GgufFormat } from '../src/index.js';

const f = Math.fround;
const half = (b: Uint8Array, at: number) => f16ToF32(b[at]! + 256 * b[at + 1]!);
const bit = (b: Uint8Array, at: number, n: number) =>
  Math.floor(b[at + Math.floor(n / 8)]! / 2 ** (n % 8)) % 2;
const bits = (b: Uint8Array, at: number, first: number, count: number) => {
  let value = 0;
  for (let k = 0; k < count; k++) value += bit(b, at, first + k) * 2 ** k;
  return value;
};
const int8 = (byte: number) => (byte < 128 ? byte : byte - 256);
const float = (b: Uint8Array, scale: number) => {
  const word = b.reduce((sum, byte, i) => sum + byte * 2 ** (8 * i), 0) * scale;
  return new DataView(Uint32Array.of(word).buffer).getFloat32(0, true);
};

/** Low and high nibbles of 16 bytes: elements 0 to 15, then 16 to 31. */
const nibble32 = (b: Uint8Array, at: number, i: number) => bits(b, at + (i % 16), i < 16 ? 0 : 4, 4);

/** 6-bit scale and minimum of group j of q4_k and q5_k, from the 96 packed bits. */
function scaleAndMin(b: Uint8Array, at: number, j: number): [number, number] {
  if (j < 4) return [bits(b, at + j, 0, 6), bits(b, at + j + 4, 0, 6)];
  return [
    bits(b, at + j + 4, 0, 4) + 16 * bits(b, at + j - 4, 6, 2),
    bits(b, at + j + 4, 4, 4) + 16 * bits(b, at + j, 6, 2),
  ];
}

/** 2-bit levels of q2_k and q3_k: 128 elements share 32 bytes, 32 elements a pair of bits. */
const pair = (b: Uint8Array, at: number, i: number) =>
  bits(b, at + 32 * Math.floor(i / 128) + (i % 32), 2 * (Math.floor(i / 32) % 4), 2);

/** Element i of one block. */
export const element: Record<GgufFormat, (b: Uint8Array, i: number) => number> = {
  f32: (b) => float(b, 1),
  bf16: (b) => float(b, 65536),
  f16: (b) => half(b, 0),
  q4_0: (b, i) => f((nibble32(b, 2, i) - 8) * half(b, 0)),
  q4_1: (b, i) => f(f(nibble32(b, 4, i) * half(b, 0)) + half(b, 2)),
  q5_0: (b, i) => f((nibble32(b, 6, i) + 16 * bit(b, 2, i) - 16) * half(b, 0)),
  q5_1: (b, i) => f(f((nibble32(b, 8, i) + 16 * bit(b, 4, i)) * half(b, 0)) + half(b, 2)),
  q8_0: (b, i) => f(int8(b[2 + i]!) * half(b, 0)),
  q2_k: (b, i) => {
    const scales = b[Math.floor(i / 16)]!;
    const [scale, min] = [f(half(b, 80) * (scales % 16)), f(half(b, 82) * Math.floor(scales / 16))];
    return f(f(scale * pair(b, 16, i)) - min);
  },
  q3_k: (b, i) => {
    const g = Math.floor(i / 16);
    const low = bits(b, 96 + (g % 8), g < 8 ? 0 : 4, 4);
    const scale = low + 16 * bits(b, 104 + (g % 4), 2 * Math.floor(g / 4), 2) - 32;
    const level = pair(b, 32, i) - (bit(b, i % 32, Math.floor(i / 32)) ? 0 : 4);
    return f(f(half(b, 108) * scale) * level);
  },
  q4_k: (b, i) => {
    const j = Math.floor(i / 32);
    const [scale, min] = scaleAndMin(b, 4, j);
    const level = bits(b, 16 + 32 * Math.floor(j / 2) + (i % 32), j % 2 ? 4 : 0, 4);
    return f(f(f(half(b, 0) * scale) * level) - f(half(b, 2) * min));
  },
  q5_k: (b, i) => {
    const j = Math.floor(i / 32);
    const [scale, min] = scaleAndMin(b, 4, j);
    const low = bits(b, 48 + 32 * Math.floor(j / 2) + (i % 32), j % 2 ? 4 : 0, 4);
    const level = low + 16 * bit(b, 16 + (i % 32), j);
    return f(f(f(half(b, 0) * scale) * level) - f(half(b, 2) * min));
  },
  q6_k: (b, i) => {
    const [n, quarter, l] = [Math.floor(i / 128), Math.floor(i / 32) % 4, i % 32];
    const low = bits(b, 64 * n + l + (quarter % 2 ? 32 : 0), quarter < 2 ? 0 : 4, 4);
    const level = low + 16 * bits(b, 128 + 32 * n + l, 2 * quarter, 2) - 32;
    return f(f(half(b, 208) * int8(b[192 + Math.floor(i / 16)]!)) * level);
  },
};
