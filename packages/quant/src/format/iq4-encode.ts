// Encoding of the formats with 4-bit levels on a curve (iq4_nl, iq4_xs): x ≈ scale * curve[q]. Method: ggml's
// quantize_row_iq4_nl_impl. Sums are in float64, so the last bit can differ from ggml's.

import { type NativeSearch, native } from '../native.js';
import { writeF16 } from './bytes.js';
import { iq4Values } from './codebooks.js';
import { signedMax } from './extremes.js';
import { meanSquare, weigh } from './importance.js';
import { nearest } from './nearest.js';

const curve = Float64Array.from(iq4Values);
const groupSize = 32;
const roundings = 7; // tried on each side of the first
const negligible = 1e-15;

/** The level nearest to x, for 2x from -256 to 255. Levels change at multiples of 1/2; a tie goes up. */
const nearestLevels = Uint8Array.from({ length: 512 }, (_, i) => {
  const x = (i - 256) / 2;
  return curve.findLastIndex((value, q) => q === 0 || x >= (curve[q - 1]! + value) / 2);
});

/** NaN becomes level 0. */
const nearestLevel = (x: number): number =>
  nearestLevels[x <= -128 ? 0 : x >= 127.5 ? 511 : Math.floor(2 * x) + 256] ?? 0;

const most = 256; // elements fitted together: a block of iq4_xs
const weights = new Float64Array(most);
const scales = new Float64Array(most / groupSize);
const sums = new Float64Array(2); // Σ w·c·x and Σ w·c² of a group, for one rounding

/** Fits the scales of the groups of x, one block, by `weights`; result in `scales`. */
function fitScales(x: Float32Array): void {
  const some = weights.subarray(0, x.length);
  if (native) fitNatively(native, x, some, scales);
  else fitInJavaScript(x, some, scales);
}

export function fitNatively(
  { fitCurve }: NativeSearch,
  x: Float32Array,
  w: Float64Array,
  found: Float64Array,
): void {
  fitCurve(x, w, groupSize, curve, nearestLevels, found);
}

export function fitInJavaScript(x: Float32Array, w: Float64Array, found: Float64Array): void {
  for (let at = 0; at < x.length; at += groupSize) found[at / groupSize] = fitScale(x, w, at);
}

function fitScale(x: Float32Array, w: Float64Array, at: number): number {
  const greatest = signedMax(x, at, groupSize);
  if (Math.abs(greatest) < negligible) return 0;
  sumLevels(x, w, at, -curve[0]! / greatest);
  let scale = sums[0]! / sums[1]!;
  let best = scale * sums[0]!;
  for (let step = -roundings; step <= roundings; step++) {
    sumLevels(x, w, at, (step + curve[0]!) / greatest);
    if (!(sums[1]! > 0 && sums[0]! * sums[0]! > best * sums[1]!)) continue;
    scale = sums[0]! / sums[1]!;
    best = scale * sums[0]!;
  }
  return scale;
}

function sumLevels(x: Float32Array, w: Float64Array, at: number, inverse: number): void {
  let cx = 0;
  let cc = 0;
  for (let i = at; i < at + groupSize; i++) {
    const value = x[i]!;
    const c = curve[nearestLevel(inverse * value)]!;
    const weighted = w[i]! * c;
    cx += weighted * value;
    cc += weighted * c;
  }
  sums[0] = cx;
  sums[1] = cc;
}

/** Weights of a block's elements: from importance if given, otherwise squares. */
function weighBlock(x: Float32Array, importance: Float32Array | undefined, column: number): void {
  if (importance) weigh(x, 0, importance, column, 2 * meanSquare(x, 0, x.length), weights, 0, x.length);
  else for (let i = 0; i < x.length; i++) weights[i] = x[i]! * x[i]!;
}

/** 32 elements as bytes: element j low nibble, element j + 16 high nibble. */
function writeLevels(x: Float32Array, at: number, inverse: number, dst: Uint8Array, to: number): void {
  for (let j = 0; j < groupSize / 2; j++)
    dst[to + j] =
      nearestLevel(inverse * x[at + j]!) | (nearestLevel(inverse * x[at + groupSize / 2 + j]!) << 4);
}

/** A block of iq4_nl: f16 d, 16 bytes of levels. */
export function writeIq4Nl(
  src: Float32Array,
  from: number,
  dst: Uint8Array,
  at: number,
  importance?: Float32Array,
  column = 0,
): void {
  const x = src.subarray(from, from + groupSize);
  weighBlock(x, importance, column);
  fitScales(x);
  const scale = scales[0]!;
  writeF16(dst, at, scale);
  writeLevels(x, 0, scale === 0 ? 0 : 1 / scale, dst, at + 2);
}

/** A block of iq4_xs: f16 d, uint16 of high pairs of scales, 4 bytes of their low nibbles, 128 bytes of levels. */
export function writeIq4Xs(
  src: Float32Array,
  from: number,
  dst: Uint8Array,
  at: number,
  importance?: Float32Array,
  column = 0,
): void {
  const x = src.subarray(from, from + most);
  weighBlock(x, importance, column);
  fitScales(x);
  let greatest = 0;
  for (const scale of scales) if (Math.abs(scale) > Math.abs(greatest)) greatest = scale;
  const d = -greatest / 32;
  dst.fill(0, at, at + 8);
  writeF16(dst, at, d);
  let high = 0;
  for (let g = 0; g < scales.length; g++) {
    const packed = d === 0 ? 0 : nearest(scales[g]! / d, -32, 31);
    const step = d * packed;
    writeLevels(x, g * groupSize, step === 0 ? 0 : 1 / step, dst, at + 8 + 16 * g);
    dst[at + 4 + (g >> 1)]! |= ((packed + 32) & 15) << (4 * (g & 1));
    high |= ((packed + 32) >> 4) << (2 * g);
  }
  dst[at + 2] = high & 255;
  dst[at + 3] = high >> 8;
}
