// Encoding of the K formats with a scale and a minimum per group (q2_k, q4_k, q5_k): x ≈ d * scale * q - dmin * min.

import { f16ToF32, f32ToF16 } from '@quern/core';
import { type AffineSearch, fitAffine, weightedSearch } from './affine-fit.js';
import { meanSquare, total, weigh } from './importance.js';
import { nearest } from './nearest.js';
import { fitPositive } from './scale-fit.js';

const superBlock = 256;

/** What distinguishes one affine K format from another. */
export interface AffineShape {
  readonly groupSize: 16 | 32;
  /** The greatest q: 3, 15 or 31. */
  readonly top: number;
  /** The greatest scale and minimum: 15 or 63. */
  readonly scaleTop: number;
  /** What elements count without an importance matrix: large ones more. */
  readonly weights: 'magnitude' | 'rms + magnitude';
  readonly search: AffineSearch;
  /** With an importance matrix: the variance in the weights is so many mean squares of the block. */
  readonly variances: 1 | 2;
}

/** One encoded super-block of 256 elements, valid until the next is encoded. */
export interface AffineBlock {
  d: number;
  dmin: number;
  readonly scales: Uint8Array;
  readonly mins: Uint8Array;
  readonly q: Uint8Array;
}

/** What encoders of one shape work in. */
function scratchOf({ groupSize }: AffineShape) {
  const groups = superBlock / groupSize;
  const block: AffineBlock = {
    d: 0,
    dmin: 0,
    scales: new Uint8Array(groups),
    mins: new Uint8Array(groups),
    q: new Uint8Array(superBlock),
  };
  return {
    block,
    weights: new Float64Array(groupSize),
    scales: new Float64Array(groups),
    lifts: new Float64Array(groups),
    groupWeights: new Float64Array(groups),
  };
}

/** Encodes the 256 elements at `start`; with the importance of their columns, from `column`. */
export type AffineEncoder = (
  x: Float32Array,
  start: number,
  importance?: Float32Array,
  column?: number,
) => AffineBlock;

/** The encoder of a format. */
export function affineEncoder(shape: AffineShape): AffineEncoder {
  const { groupSize, top, scaleTop } = shape;
  const { block, weights, scales, lifts, groupWeights } = scratchOf(shape);
  const groups = superBlock / groupSize;
  return (x, start, importance, column = 0) => {
    const group = { x, at: start, size: groupSize, weights };
    const variance = importance ? shape.variances * meanSquare(x, start, superBlock) : 0;
    for (let g = 0; g < groups; g++) {
      group.at = start + g * groupSize;
      if (importance) weigh(x, group.at, importance, column + g * groupSize, variance, weights);
      else weighByMagnitude(x, group.at, shape.weights, weights);
      const search = importance ? weightedSearch : shape.search;
      const fit = fitAffine(group, top, search, block.q, g * groupSize);
      scales[g] = fit.scale;
      lifts[g] = fit.lift;
      groupWeights[g] = total(weights);
    }
    const pack = importance ? packWeighted : packScales;
    block.d = f16ToF32(f32ToF16(pack(scales, groupWeights, scaleTop, block.scales)));
    block.dmin = f16ToF32(f32ToF16(pack(lifts, groupWeights, scaleTop, block.mins)));
    roundAll(x, start, block, groupSize, top);
    return block;
  };
}

/** The levels for the scales and minimums as they are stored. */
function roundAll(x: Float32Array, start: number, block: AffineBlock, groupSize: number, top: number): void {
  for (let g = 0; g < block.scales.length; g++) {
    const step = block.d * block.scales[g]!;
    if (step === 0) continue;
    const lift = block.dmin * block.mins[g]!;
    for (let i = g * groupSize; i < (g + 1) * groupSize; i++)
      block.q[i] = nearest((x[start + i]! + lift) / step, 0, top);
  }
}

/** Stores non-negative group values as `unit * packed`; returns the unit. */
function packScales(values: Float64Array, _weights: Float64Array, top: number, packed: Uint8Array): number {
  let greatest = 0;
  for (const value of values) if (value > greatest) greatest = value;
  const inverse = greatest > 0 ? top / greatest : 0;
  for (let g = 0; g < values.length; g++) packed[g] = nearest(values[g]! * inverse, 0, top);
  return greatest / top;
}

const packWeighted: typeof packScales = (values, weights, top, packed) =>
  fitPositive(values, weights, top, packed);

function weighByMagnitude(
  x: Float32Array,
  at: number,
  kind: AffineShape['weights'],
  weights: Float64Array,
): void {
  const floor = kind === 'magnitude' ? 0 : Math.sqrt(meanSquare(x, at, weights.length));
  for (let i = 0; i < weights.length; i++) weights[i] = floor + Math.abs(x[at + i]!);
}
