// Encoding of the K formats with a signed scale per group and no minimum (q3_k, q6_k): x ≈ d * scale * q, with q in [-top, top).
// The method is that of ggml's reference quantiser; sums are taken in float64, so the last bit can differ from ggml's.

import { f16ToF32, f32ToF16 } from '@quern/core';
import type { Group } from './affine-fit.js';
import { signedMax } from './extremes.js';
import { nearest } from './nearest.js';
import { fitScale } from './scale-fit.js';

const superBlock = 256;
const groupSize = 16;
const negligible = 1e-15;

/** What distinguishes one symmetric K format from another. */
interface SymmetricShape {
  /** q lies in [-top, top). */
  readonly top: number;
  /** Group scales lie in [-scaleTop, scaleTop). */
  readonly scaleTop: number;
  /** Finds the scale of one group of 16, without an importance matrix. */
  readonly fit: (group: Group, top: number) => number;
  /** With one: what the elements of a group count; returns what the group counts where group scales are fitted by it. */
  readonly weigh: (
    group: Group,
    start: number,
    importance: Float32Array,
    column: number,
  ) => number | undefined;
}

/** One encoded super-block of 256 elements, valid until the next is encoded. */
export interface SymmetricBlock {
  d: number;
  readonly scales: Int8Array;
  readonly q: Int8Array;
}

/** Encodes the 256 elements at `start`; with the importance of their columns, from `column`. */
export type SymmetricEncoder = (
  x: Float32Array,
  start: number,
  importance?: Float32Array,
  column?: number,
) => SymmetricBlock;

/** The encoder of a format. */
export function symmetricEncoder({ top, scaleTop, fit, weigh }: SymmetricShape): SymmetricEncoder {
  const groups = superBlock / groupSize;
  const block: SymmetricBlock = { d: 0, scales: new Int8Array(groups), q: new Int8Array(superBlock) };
  const weights = new Float64Array(groupSize);
  const fits = new Float32Array(groups);
  const groupWeights = new Float64Array(groups);
  return (x, start, importance, column = 0) => {
    const group = { x, at: start, size: groupSize, weights };
    let weighted = false;
    for (let g = 0; g < groups; g++) {
      group.at = start + g * groupSize;
      const weight = importance && weigh(group, start, importance, column + g * groupSize);
      weighted = weight !== undefined;
      groupWeights[g] = weight ?? 0;
      fits[g] = importance ? fitScale(group, top).scale : fit(group, top);
    }
    block.d = weighted
      ? packWeighted(fits, groupWeights, scaleTop, block)
      : packScales(fits, scaleTop, block);
    roundAll(x, start, block, top);
    return block;
  };
}

/** Stores group scales as `unit * packed`; returns the unit. */
function packScales(fits: Float32Array, scaleTop: number, block: SymmetricBlock): number {
  const greatest = signedMax(fits, 0, fits.length);
  block.scales.fill(0);
  if (Math.abs(greatest) < negligible) return 0;
  const inverse = -scaleTop / greatest;
  for (let g = 0; g < fits.length; g++)
    block.scales[g] = nearest(inverse * fits[g]!, -scaleTop, scaleTop - 1);
  return f16ToF32(f32ToF16(1 / inverse));
}

function packWeighted(
  fits: Float32Array,
  weights: Float64Array,
  scaleTop: number,
  block: SymmetricBlock,
): number {
  const { scale, inverse } = fitScale({ x: fits, at: 0, size: fits.length, weights }, scaleTop);
  for (let g = 0; g < fits.length; g++)
    block.scales[g] = nearest(inverse * fits[g]!, -scaleTop, scaleTop - 1);
  return f16ToF32(f32ToF16(scale));
}

/** The levels for the scales as they are stored. */
function roundAll(x: Float32Array, start: number, { d, scales, q }: SymmetricBlock, top: number): void {
  for (let i = 0; i < superBlock; i++) {
    const step = d * scales[i >> 4]!;
    q[i] = step === 0 ? 0 : nearest(x[start + i]! / step, -top, top - 1);
  }
}

/** The scale of the best rounding, elements weighted by their squares. */
export function fitByScan(group: Group, top: number): number {
  const { x, at, size, weights } = group;
  for (let i = 0; i < size; i++) weights[i] = x[at + i]! * x[at + i]!;
  return fitScale(group, top).scale;
}

/** Sums for the least-squares scale `qx / qq`, elements weighted by their squares. */
interface Sums {
  qx: number;
  qq: number;
}

function add(sums: Sums, value: number, q: number, sign: 1 | -1): void {
  const weight = sign * value * value;
  sums.qx += weight * value * q;
  sums.qq += weight * q * q;
}

const levels = new Int8Array(groupSize);

/** Moves one element at a time to the level that lowers the squared error, up to five passes (ggml's make_q3_quants). */
export function fitByDescent({ x, at, size }: Group, top: number): number {
  const greatest = signedMax(x, at, size);
  if (Math.abs(greatest) < negligible) return 0;
  let sums = { qx: 0, qq: 0 };
  for (let i = 0; i < size; i++) {
    levels[i] = nearest((-top / greatest) * x[at + i]!, -top, top - 1);
    add(sums, x[at + i]!, levels[i]!, 1);
  }
  for (let pass = 0; pass < 5; pass++) {
    const before = sums;
    for (let i = 0; i < size; i++) sums = improve(x[at + i]!, i, sums, top);
    if (sums === before) break;
  }
  return sums.qq > 0 ? sums.qx / sums.qq : 0;
}

/** Moves element `i` to the level that suits the others best, where that helps; returns the sums then valid. */
function improve(value: number, i: number, sums: Sums, top: number): Sums {
  const moved = { ...sums };
  add(moved, value, levels[i]!, -1);
  if (!(moved.qx > 0)) return sums;
  const level = nearest((value * moved.qq) / moved.qx, -top, top - 1);
  if (level === levels[i]) return sums;
  add(moved, value, level, 1);
  if (!(moved.qq > 0 && moved.qx * moved.qx * sums.qq > sums.qx * sums.qx * moved.qq)) return sums;
  levels[i] = level;
  return moved;
}
