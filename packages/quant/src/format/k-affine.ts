// Encoding of the K formats with a scale and a minimum per group (q2_k, q4_k, q5_k): x ≈ d * scale * q - dmin * min.

import { f16ToF32, f32ToF16 } from '@quern/core';
import { type AffineSearch, fitAffine, weightedSearch } from './affine-fit.js';
import { meanSquare, total, weigh } from './importance.js';
import { type EncodeBlocks, superBlock, superBlocks } from './k-blocks.js';
import { nearest } from './nearest.js';
import { fitPositive } from './scale-fit.js';

/** Parameters of an affine K format. */
export interface AffineShape {
  readonly groupSize: 16 | 32;
  /** Largest q: 3, 15 or 31. */
  readonly top: number;
  /** Largest scale and minimum: 15 or 63. */
  readonly scaleTop: number;
  /** Weights of elements without an importance matrix: large elements weigh more. */
  readonly weights: 'magnitude' | 'rms + magnitude';
  readonly search: AffineSearch;
  /** With an importance matrix, the weight is importance · √(variance + x²); variance = `variances` · mean(x²). */
  readonly variances: 1 | 2;
}

/** One encoded superblock of 256 elements, valid until the next is encoded. */
export interface AffineBlock {
  d: number;
  dmin: number;
  readonly scales: Uint8Array;
  readonly mins: Uint8Array;
  q: Uint8Array;
}

/** The encoder of a format. */
export function affineEncoder(shape: AffineShape): EncodeBlocks<AffineBlock> {
  const { groupSize, top, scaleTop } = shape;
  const groups = superBlock / groupSize;
  const most = superBlock * superBlocks;
  const weights = new Float64Array(most);
  const fits = {
    scales: new Float64Array(most / groupSize),
    lifts: new Float64Array(most / groupSize),
    levels: new Uint8Array(most),
  };
  const block: AffineBlock = {
    d: 0,
    dmin: 0,
    scales: new Uint8Array(groups),
    mins: new Uint8Array(groups),
    q: fits.levels,
  };
  const groupWeights = new Float64Array(groups);

  return (x, start, count, write, importance) => {
    for (let done = 0; done < count; done += most) {
      const n = Math.min(most, count - done);
      const some = x.subarray(start + done, start + done + n);
      if (importance) weighByImportance(some, importance, done, shape.variances, weights);
      else weighByMagnitude(some, groupSize, shape.weights, weights);
      const search = importance ? weightedSearch : shape.search;
      fitAffine({ x: some, weights: weights.subarray(0, n), size: groupSize }, top, search, fits);
      for (let at = 0; at < n; at += superBlock) {
        const g = at / groupSize;
        for (let i = 0; i < groups; i++) groupWeights[i] = total(weights, at + i * groupSize, groupSize);
        const pack = importance ? fitPositive : packScales;
        const scales = fits.scales.subarray(g, g + groups);
        const lifts = fits.lifts.subarray(g, g + groups);
        block.d = f16ToF32(f32ToF16(pack(scales, groupWeights, scaleTop, block.scales)));
        block.dmin = f16ToF32(f32ToF16(pack(lifts, groupWeights, scaleTop, block.mins)));
        block.q = fits.levels.subarray(at, at + superBlock);
        roundAll(some, at, block, groupSize, top);
        write(block, (done + at) / superBlock);
      }
    }
  };
}

/** The levels for the stored scales and minimums. */
function roundAll(x: Float32Array, start: number, block: AffineBlock, groupSize: number, top: number): void {
  const { d, dmin, scales, mins, q } = block;
  for (let g = 0; g < scales.length; g++) {
    const step = d * scales[g]!;
    if (step === 0) continue;
    const lift = dmin * mins[g]!;
    for (let i = g * groupSize; i < (g + 1) * groupSize; i++)
      q[i] = nearest((x[start + i]! + lift) / step, 0, top);
  }
}

/** Stores non-negative group values as `unit * packed`; returns the unit. */
function packScales(values: Float64Array, _weights: Float64Array, top: number, packed: Uint8Array): number {
  let greatest = 0;
  for (const value of values) greatest = Math.max(greatest, value);
  const inverse = greatest > 0 ? top / greatest : 0;
  for (let g = 0; g < values.length; g++) packed[g] = nearest(values[g]! * inverse, 0, top);
  return greatest / top;
}

function weighByImportance(
  x: Float32Array,
  importance: Float32Array,
  column: number,
  variances: number,
  weights: Float64Array,
): void {
  for (let at = 0; at < x.length; at += superBlock) {
    const variance = variances * meanSquare(x, at, superBlock);
    weigh(x, at, importance, column + at, variance, weights, at, superBlock);
  }
}

function weighByMagnitude(
  x: Float32Array,
  groupSize: number,
  kind: AffineShape['weights'],
  weights: Float64Array,
): void {
  for (let at = 0; at < x.length; at += groupSize) {
    const floor = kind === 'magnitude' ? 0 : Math.sqrt(meanSquare(x, at, groupSize));
    for (let i = at; i < at + groupSize; i++) weights[i] = floor + Math.abs(x[i]!);
  }
}
