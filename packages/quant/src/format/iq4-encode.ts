// Encoding of the formats whose 4-bit levels lie on a curve (iq4_nl, iq4_xs): x ≈ scale * curve[q]. The method is that of
// ggml's quantize_row_iq4_nl_impl; sums are taken in float64, so the last bit can differ from ggml's.

import { writeF16 } from './bytes.js';
import { iq4Values as curve } from './codebooks.js';
import { signedMax } from './extremes.js';
import { meanSquare, weigh } from './importance.js';
import { nearest } from './nearest.js';

const groupSize = 32;
const roundings = 7; // tried on either side of the first
const negligible = 1e-15;

/** The level nearest to x, for 2x from -256 to 255: levels change at multiples of 1/2, and a tie goes up. */
const nearestLevels = Uint8Array.from({ length: 512 }, (_, i) => {
  const x = (i - 256) / 2;
  return curve.findLastIndex((value, q) => q === 0 || x >= (curve[q - 1]! + value) / 2);
});

/** NaN becomes level 0. */
const nearestLevel = (x: number): number =>
  nearestLevels[x <= -128 ? 0 : x >= 127.5 ? 511 : Math.floor(2 * x) + 256] ?? 0;

const weights = new Float64Array(groupSize);
const sums = new Float64Array(2); // Σ of w·c·x and w·c² over a group, for one rounding

function sumLevels(x: Float32Array, at: number, inverse: number): void {
  let cx = 0;
  let cc = 0;
  for (let i = 0; i < groupSize; i++) {
    const value = x[at + i]!;
    const c = curve[nearestLevel(inverse * value)]!;
    const weighted = weights[i]! * c;
    cx += weighted * value;
    cc += weighted * c;
  }
  sums[0] = cx;
  sums[1] = cc;
}

/** The scale of the 32 elements at `at`, by `weights`. */
function fitScale(x: Float32Array, at: number): number {
  const greatest = signedMax(x, at, groupSize);
  if (Math.abs(greatest) < negligible) return 0;
  sumLevels(x, at, -curve[0]! / greatest);
  let scale = sums[0]! / sums[1]!;
  let best = scale * sums[0]!;
  for (let step = -roundings; step <= roundings; step++) {
    sumLevels(x, at, (step + curve[0]!) / greatest);
    if (!(sums[1]! > 0 && sums[0]! * sums[0]! > best * sums[1]!)) continue;
    scale = sums[0]! / sums[1]!;
    best = scale * sums[0]!;
  }
  return scale;
}

/** What each element of a group counts: by its importance where there is one, else by its square. */
function weighGroup(
  x: Float32Array,
  at: number,
  importance: Float32Array | undefined,
  column: number,
  variance: number,
) {
  if (importance) weigh(x, at, importance, column, variance, weights, 0, groupSize);
  else for (let i = 0; i < groupSize; i++) weights[i] = x[at + i]! * x[at + i]!;
}

/** 32 elements as bytes: element j low nibble, element j + 16 high nibble. */
function writeLevels(x: Float32Array, at: number, inverse: number, dst: Uint8Array, to: number): void {
  for (let j = 0; j < groupSize / 2; j++)
    dst[to + j] =
      nearestLevel(inverse * x[at + j]!) | (nearestLevel(inverse * x[at + groupSize / 2 + j]!) << 4);
}

/** A block of iq4_nl: f16 d, 16 bytes of levels. */
export function writeIq4Nl(
  x: Float32Array,
  from: number,
  dst: Uint8Array,
  at: number,
  importance?: Float32Array,
  column = 0,
): void {
  weighGroup(x, from, importance, column, importance ? 2 * meanSquare(x, from, groupSize) : 0);
  const scale = fitScale(x, from);
  writeF16(dst, at, scale);
  writeLevels(x, from, scale === 0 ? 0 : 1 / scale, dst, at + 2);
}

const groups = 8;
const scales = new Float64Array(groups);

/** A block of iq4_xs: f16 d, uint16 of high pairs of scales, 4 bytes of their low nibbles, 128 bytes of levels. */
export function writeIq4Xs(
  x: Float32Array,
  from: number,
  dst: Uint8Array,
  at: number,
  importance?: Float32Array,
  column = 0,
): void {
  const variance = importance ? 2 * meanSquare(x, from, groups * groupSize) : 0;
  let greatest = 0;
  for (let g = 0; g < groups; g++) {
    weighGroup(x, from + g * groupSize, importance, column + g * groupSize, variance);
    scales[g] = fitScale(x, from + g * groupSize);
    if (Math.abs(scales[g]!) > Math.abs(greatest)) greatest = scales[g]!;
  }
  const d = -greatest / 32;
  dst.fill(0, at, at + 8);
  writeF16(dst, at, d);
  let high = 0;
  for (let g = 0; g < groups; g++) {
    const packed = d === 0 ? 0 : nearest(scales[g]! / d, -32, 31);
    const step = d * packed;
    writeLevels(x, from + g * groupSize, step === 0 ? 0 : 1 / step, dst, at + 8 + 16 * g);
    dst[at + 4 + (g >> 1)]! |= ((packed + 32) & 15) << (4 * (g & 1));
    high |= ((packed + 32) >> 4) << (2 * g);
  }
  dst[at + 2] = high & 255;
  dst[at + 3] = high >> 8;
}
