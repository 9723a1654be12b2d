// Encoding of the K formats with a signed scale per group and no minimum (q3_k, q6_k): x ≈ d * scale * q, with q in [-top, top).
// The method is that of ggml's reference quantiser; sums are taken in float64, so the last bit can differ from ggml's.

import { f16ToF32, f32ToF16 } from '@quern/core';
import { signedMax } from './extremes.js';
import { nearest } from './nearest.js';

const superBlock = 256;
const groupSize = 16;
const negligible = 1e-15;

/** What distinguishes one symmetric K format from another. */
interface SymmetricShape {
  /** q lies in [-top, top). */
  readonly top: number;
  /** Group scales lie in [-scaleTop, scaleTop). */
  readonly scaleTop: number;
  /** Finds the scale of one group of 16. */
  readonly fit: (x: Float32Array, top: number) => number;
}

/** One encoded super-block of 256 elements. */
export interface SymmetricBlock {
  readonly d: number;
  readonly scales: Int8Array;
  readonly q: Int8Array;
}

/** Encodes the 256 elements at `start`. */
export function encodeSymmetric(x: Float32Array, start: number, shape: SymmetricShape): SymmetricBlock {
  const { top, scaleTop, fit } = shape;
  const fits = new Float32Array(superBlock / groupSize);
  for (let g = 0; g < fits.length; g++) {
    const from = start + g * groupSize;
    fits[g] = fit(x.subarray(from, from + groupSize), top);
  }
  const greatest = signedMax(fits, 0, fits.length);
  const q = new Int8Array(superBlock);
  if (Math.abs(greatest) < negligible) return { d: 0, scales: new Int8Array(fits.length), q };

  const inverse = -scaleTop / greatest;
  const d = f16ToF32(f32ToF16(1 / inverse));
  const scales = Int8Array.from(fits, (scale) => nearest(inverse * scale, -scaleTop, scaleTop - 1));
  for (let i = 0; i < superBlock; i++) {
    const step = d * scales[Math.floor(i / groupSize)]!;
    q[i] = step === 0 ? 0 : nearest(x[start + i]! / step, -top, top - 1);
  }
  return { d, scales, q };
}

/** Sums for the least-squares scale `qx / qq`, elements weighted by their squares. */
interface Sums {
  qx: number;
  qq: number;
}

/** Tries roundings to `top - 0.9` … `top + 0.9` levels and keeps the least squared error (ggml's make_qx_quants). */
export function fitByScan(x: Float32Array, top: number): number {
  const greatest = signedMax(x, 0, x.length);
  if (Math.abs(greatest) < negligible) return 0;
  let best = sumsAt(x, -top / greatest, top);
  for (let step = -9; step <= 9; step++) {
    const sums = sumsAt(x, -(top + 0.1 * step) / greatest, top);
    if (sums.qq > 0 && sums.qx * sums.qx * best.qq > best.qx * best.qx * sums.qq) best = sums;
  }
  return best.qq > 0 ? best.qx / best.qq : 0;
}

function sumsAt(x: Float32Array, inverse: number, top: number): Sums {
  const sums = { qx: 0, qq: 0 };
  for (const value of x) add(sums, value, nearest(inverse * value, -top, top - 1), 1);
  return sums;
}

function add(sums: Sums, value: number, q: number, sign: 1 | -1): void {
  const weight = sign * value * value;
  sums.qx += weight * value * q;
  sums.qq += weight * q * q;
}

/** Moves one element at a time to the level that lowers the squared error, up to five passes (ggml's make_q3_quants). */
export function fitByDescent(x: Float32Array, top: number): number {
  const greatest = signedMax(x, 0, x.length);
  if (Math.abs(greatest) < negligible) return 0;
  const q = Int8Array.from(x, (value) => nearest((-top / greatest) * value, -top, top - 1));
  let sums = { qx: 0, qq: 0 };
  for (let i = 0; i < x.length; i++) add(sums, x[i]!, q[i]!, 1);
  for (let pass = 0; pass < 5; pass++) {
    const before = sums;
    for (let i = 0; i < x.length; i++) sums = improve(x[i]!, i, q, sums, top);
    if (sums === before) break;
  }
  return sums.qq > 0 ? sums.qx / sums.qq : 0;
}

/** Moves element `i` to the level that suits the others best, where that helps; returns the sums then valid. */
function improve(value: number, i: number, q: Int8Array, sums: Sums, top: number): Sums {
  const moved = { ...sums };
  add(moved, value, q[i]!, -1);
  if (!(moved.qx > 0)) return sums;
  const level = nearest((value * moved.qq) / moved.qx, -top, top - 1);
  if (level === q[i]) return sums;
  add(moved, value, level, 1);
  if (!(moved.qq > 0 && moved.qx * moved.qx * sums.qq > sums.qx * sums.qx * moved.qq)) return sums;
  q[i] = level;
  return moved;
}
