// Encoding of the K formats with a scale and a minimum per group (q2_k, q4_k, q5_k): x ≈ d * scale * q - dmin * min.
// The method is that of ggml's reference quantiser (make_qkx2_quants): try several roundings of a group, refit scale and minimum to
// each by weighted least squares, keep the best. Sums are taken in float64, so the last bit can differ from ggml's.

import { f16ToF32, f32ToF16 } from '@quern/core';
import { range } from './extremes.js';
import { nearest } from './nearest.js';

const superBlock = 256;

/** What distinguishes one affine K format from another. */
export interface AffineShape {
  readonly groupSize: 16 | 32;
  /** The greatest q: 3, 15 or 31. */
  readonly top: number;
  /** The greatest scale and minimum: 15 or 63. */
  readonly scaleTop: number;
  readonly weights: 'magnitude' | 'rms + magnitude';
  readonly search: AffineSearch;
}

/** Roundings tried: the group's range is spread over `top + first`, `top + first + 0.1`, … levels. */
interface AffineSearch {
  readonly first: number;
  readonly steps: number;
  readonly error: 'absolute' | 'squared';
}

/** One encoded super-block of 256 elements. */
export interface AffineBlock {
  readonly d: number;
  readonly dmin: number;
  readonly scales: Uint8Array;
  readonly mins: Uint8Array;
  readonly q: Uint8Array;
}

/** x ≈ scale * q - min, with min ≥ 0. */
interface AffineFit {
  readonly scale: number;
  readonly min: number;
}

/** Encodes the 256 elements at `start`. */
export function encodeAffine(x: Float32Array, start: number, shape: AffineShape): AffineBlock {
  const { groupSize, top, scaleTop } = shape;
  const groups = superBlock / groupSize;
  const q = new Uint8Array(superBlock);
  const fits = Array.from({ length: groups }, (_, g) => {
    const from = start + g * groupSize;
    return fitGroup(
      x.subarray(from, from + groupSize),
      shape,
      q.subarray(g * groupSize, (g + 1) * groupSize),
    );
  });
  const scale = packScales(
    fits.map((fit) => fit.scale),
    scaleTop,
  );
  const min = packScales(
    fits.map((fit) => fit.min),
    scaleTop,
  );
  for (let g = 0; g < groups; g++) {
    const step = scale.unit * scale.packed[g]!;
    if (step === 0) continue;
    const lift = min.unit * min.packed[g]!;
    for (let i = g * groupSize; i < (g + 1) * groupSize; i++)
      q[i] = nearest((x[start + i]! + lift) / step, 0, top);
  }
  return { d: scale.unit, dmin: min.unit, scales: scale.packed, mins: min.packed, q };
}

/** Stores non-negative group values as `unit * packed`, with `unit` an f16. */
function packScales(values: readonly number[], top: number): { unit: number; packed: Uint8Array } {
  const greatest = Math.max(0, ...values);
  const inverse = greatest > 0 ? top / greatest : 0;
  const packed = Uint8Array.from(values, (value) => nearest(value * inverse, 0, top));
  return { unit: f16ToF32(f32ToF16(greatest / top)), packed };
}

/** The best scale and minimum found for one group. Each better fit moves the minimum from which the next roundings start. */
function fitGroup(x: Float32Array, { top, weights: kind, search }: AffineShape, q: Uint8Array): AffineFit {
  const weights = weightsOf(x, kind);
  const { min, max } = range(x, 0, x.length);
  let best: AffineFit = { scale: (max - Math.min(0, min)) / top, min: Math.max(0, -min) };
  if (!(best.scale > 0)) return { scale: 0, min: best.min };
  roundGroup(x, top / (max + best.min), best.min, top, q);
  let bestError = errorOf(x, best, weights, q, search.error);
  for (let step = 0; step <= search.steps; step++) {
    roundGroup(x, (search.first + 0.1 * step + top) / (max + best.min), best.min, top, q);
    const fit = solve(x, weights, q);
    const error = fit ? errorOf(x, fit, weights, q, search.error) : Number.POSITIVE_INFINITY;
    if (fit && error < bestError) [best, bestError] = [fit, error];
  }
  return best;
}

/** Large elements count for more. */
function weightsOf(x: Float32Array, kind: AffineShape['weights']): Float64Array {
  const floor =
    kind === 'magnitude' ? 0 : Math.sqrt(x.reduce((sum, value) => sum + value * value, 0) / x.length);
  return Float64Array.from(x, (value) => floor + Math.abs(value));
}

function roundGroup(x: Float32Array, inverse: number, min: number, top: number, q: Uint8Array): void {
  for (let i = 0; i < x.length; i++) q[i] = nearest(inverse * (x[i]! + min), 0, top);
}

/** Weighted least squares for `x ≈ scale * q - min` with min ≥ 0; undefined where all q are equal. */
function solve(x: Float32Array, weights: Float64Array, q: Uint8Array): AffineFit | undefined {
  let [w, wx, wq, wqq, wqx] = [0, 0, 0, 0, 0];
  for (let i = 0; i < x.length; i++) {
    const weight = weights[i]!;
    w += weight;
    wx += weight * x[i]!;
    wq += weight * q[i]!;
    wqq += weight * q[i]! * q[i]!;
    wqx += weight * q[i]! * x[i]!;
  }
  const determinant = w * wqq - wq * wq;
  if (!(determinant > 0)) return undefined;
  const min = (wq * wqx - wqq * wx) / determinant;
  return min < 0 ? { scale: wqx / wqq, min: 0 } : { scale: (w * wqx - wx * wq) / determinant, min };
}

function errorOf(
  x: Float32Array,
  fit: AffineFit,
  weights: Float64Array,
  q: Uint8Array,
  kind: AffineSearch['error'],
): number {
  let sum = 0;
  for (let i = 0; i < x.length; i++) {
    const difference = fit.scale * q[i]! - fit.min - x[i]!;
    sum += weights[i]! * (kind === 'absolute' ? Math.abs(difference) : difference * difference);
  }
  return sum;
}
