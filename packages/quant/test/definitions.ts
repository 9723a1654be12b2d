// A second definition of the formats, for tests: from ggml's layouts, one element at a time.

import { f16ToF32 } from '@quern/core';
import { iq1sGrid, iq2sGrid, iq2xsGrid, iq2xxsGrid, iq3sGrid, iq3xxsGrid } from '../src/format/iq-grids.js';
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

const iq4 = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const fp4 = [0, 0.5, 1, 1.5, 2, 3, 4, 6, 0, -0.5, -1, -1.5, -2, -3, -4, -6];

/** The eighth sign bit makes the number of set bits even. */
const evenSign = (stored: number, j: number) => {
  const bitsSet = [0, 1, 2, 3, 4, 5, 6].map((k) => Math.floor(stored / 2 ** k) % 2);
  const minus = j < 7 ? bitsSet[j]! : bitsSet.reduce((sum, x) => sum + x, 0) % 2;
  return minus ? -1 : 1;
};
const sign = (b: Uint8Array, at: number, n: number) => (bit(b, at, n) ? -1 : 1);

const integer = (b: Uint8Array) =>
  f(
    Number(
      BigInt.asIntN(
        8 * b.length,
        [...b].reduceRight((sum, byte) => sum * 256n + BigInt(byte), 0n),
      ),
    ),
  );

/** Value i of a ternary byte run: digit i / bytes of byte i % bytes. */
const ternary = (b: Uint8Array, at: number, bytes: number, i: number) => {
  const digit = (b[at + (i % bytes)]! * 3 ** Math.floor(i / bytes)) % 256;
  return Math.floor((digit * 3) / 256) - 1;
};

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
  iq4_nl: (b, i) => f(half(b, 0) * iq4[nibble32(b, 2, i)]!),
  iq4_xs: (b, i) => {
    const g = Math.floor(i / 32);
    const scale = bits(b, 4, 4 * g, 4) + 16 * bits(b, 2, 2 * g, 2) - 32;
    return f(f(half(b, 0) * scale) * iq4[nibble32(b, 8 + 16 * g, i % 32)]!);
  },
  mxfp4: (b, i) => f(fp4[nibble32(b, 1, i)]! * 2 ** (b[0]! - 127)),
  nvfp4: (b, i) => {
    const [g, j] = [Math.floor(i / 16), i % 16];
    const [exponent, fraction] = [bits(b, g, 3, 4), bits(b, g, 0, 3)];
    const scale = exponent ? (8 + fraction) * 2 ** (exponent - 10) : fraction * 2 ** -9;
    return f(fp4[bits(b, 4 + 8 * g + (j % 8), j < 8 ? 0 : 4, 4)]! * (b[g] === 127 ? 0 : scale));
  },
  q1_0: (b, i) => (bit(b, 2, i) ? half(b, 0) : 0 - half(b, 0)),
  tq1_0: (b, i) => {
    const d = half(b, 52);
    if (i < 160) return f(ternary(b, 0, 32, i) * d);
    return f((i < 240 ? ternary(b, 32, 16, i - 160) : ternary(b, 48, 4, i - 240)) * d);
  },
  tq2_0: (b, i) => f((pair(b, 0, i) - 1) * half(b, 64)),
  iq2_xxs: (b, i) => {
    const [at, p, j] = [2 + 8 * Math.floor(i / 32), Math.floor(i / 8) % 4, i % 8];
    const scale = half(b, 0) * (0.5 + bits(b, at + 4, 28, 4)) * 0.25;
    return f(scale * iq2xxsGrid[8 * b[at + p]! + j]! * evenSign(bits(b, at + 4, 7 * p, 7), j));
  },
  iq2_xs: (b, i) => {
    const [p, j] = [Math.floor(i / 8), i % 8];
    const scale = half(b, 0) * (0.5 + bits(b, 66, 4 * Math.floor(i / 16), 4)) * 0.25;
    return f(scale * iq2xsGrid[8 * bits(b, 2, 16 * p, 9) + j]! * evenSign(bits(b, 2, 16 * p + 9, 7), j));
  },
  iq2_s: (b, i) => {
    const [p, j] = [Math.floor(i / 8), i % 8];
    const scale = half(b, 0) * (0.5 + bits(b, 74, 4 * Math.floor(i / 16), 4)) * 0.25;
    return f(scale * iq2sGrid[8 * (b[2 + p]! + 256 * bits(b, 66, 2 * p, 2)) + j]! * sign(b, 34, i));
  },
  iq3_xxs: (b, i) => {
    const [g, p] = [Math.floor(i / 32), Math.floor(i / 4)];
    const scale = half(b, 0) * (0.5 + bits(b, 66, 32 * g + 28, 4)) * 0.5;
    const minus = evenSign(bits(b, 66, 32 * g + 7 * (Math.floor(i / 8) % 4), 7), i % 8);
    return f(scale * iq3xxsGrid[4 * b[2 + p]! + (i % 4)]! * minus);
  },
  iq3_s: (b, i) => {
    const p = Math.floor(i / 4);
    const scale = half(b, 0) * (1 + 2 * bits(b, 106, 4 * Math.floor(i / 32), 4));
    return f(scale * iq3sGrid[4 * (b[2 + p]! + 256 * bit(b, 66, p)) + (i % 4)]! * sign(b, 74, i));
  },
  iq1_s: (b, i) => {
    const [g, p] = [Math.floor(i / 32), Math.floor(i / 8)];
    const scale = half(b, 0) * (2 * bits(b, 34, 16 * g + 12, 3) + 1);
    const point = b[2 + p]! + 256 * bits(b, 34, 16 * g + 3 * (p % 4), 3);
    return f(scale * (iq1sGrid[8 * point + (i % 8)]! + (bit(b, 34, 16 * g + 15) ? -1 : 1) / 8));
  },
  iq1_m: (b, i) => {
    const [g, p] = [Math.floor(i / 16), Math.floor(i / 8)];
    const d = Uint8Array.of(
      bits(b, 48, 12, 4) + 16 * bits(b, 48, 28, 4),
      bits(b, 48, 44, 4) + 16 * bits(b, 48, 60, 4),
    );
    const scale = half(d, 0) * (2 * bits(b, 48, 16 * Math.floor(g / 4) + 3 * (g % 4), 3) + 1);
    const point = b[p]! + 256 * bits(b, 32, 4 * p, 3);
    return f(scale * (iq1sGrid[8 * point + (i % 8)]! + (bit(b, 32, 4 * p + 3) ? -1 : 1) / 8));
  },
  f64: (b) => f(new DataView(b.slice().buffer).getFloat64(0, true)),
  i8: integer,
  i16: integer,
  i32: integer,
  i64: integer,
};
