// Encoding of the K formats with a signed scale per group and no minimum (q3_k, q6_k): x ≈ d * scale * q, q in [-top,
// top). Method: ggml's reference quantiser. Sums are in float64, so the last bit can differ from ggml's.

import { f16ToF32, f32ToF16 } from '@quern/core';
import { native } from '../native.js';
import type { Groups } from './affine-fit.js';
import { signedMax } from './extremes.js';
import { total } from './importance.js';
import { type EncodeBlocks, superBlock, superBlocks } from './k-blocks.js';
import { nearest } from './nearest.js';
import { fitScale, type ScaleFits } from './scale-fit.js';

const groupSize = 16;
const groups = superBlock / groupSize;
const negligible = 1e-15;

/** Parameters of a symmetric K format. */
interface SymmetricShape {
  /** q lies in [-top, top). */
  readonly top: number;
  /** Group scales lie in [-scaleTop, scaleTop). */
  readonly scaleTop: number;
  /** Finds the scales of groups without an importance matrix; may use `weights`. */
  readonly fit: (groups: Groups, top: number, fits: ScaleFits) => void;
  /** Weights of elements with an importance matrix: x [n], importance from column `column` on, weights [n]. */
  readonly weigh: (x: Float32Array, importance: Float32Array, column: number, weights: Float64Array) => void;
  /** With an importance matrix, group scales are fitted by the weights of their groups. */
  readonly fitsScales: boolean;
}

/** One encoded superblock of 256 elements, valid until the next is encoded. */
export interface SymmetricBlock {
  d: number;
  readonly scales: Int8Array;
  readonly q: Int8Array;
}

/** The encoder of a format. */
export function symmetricEncoder(shape: SymmetricShape): EncodeBlocks<SymmetricBlock> {
  const { top, scaleTop } = shape;
  const most = superBlock * superBlocks;
  const weights = new Float64Array(most);
  const fits = { scales: new Float64Array(most / groupSize), inverses: new Float64Array(most / groupSize) };
  const block: SymmetricBlock = { d: 0, scales: new Int8Array(groups), q: new Int8Array(superBlock) };
  const scales = new Float32Array(groups);
  const groupWeights = new Float64Array(groups);

  return (x, start, count, write, importance) => {
    for (let done = 0; done < count; done += most) {
      const n = Math.min(most, count - done);
      const some = {
        x: x.subarray(start + done, start + done + n),
        weights: weights.subarray(0, n),
        size: groupSize,
      };
      if (importance) shape.weigh(some.x, importance, done, some.weights);
      (importance ? fitScale : shape.fit)(some, top, fits);
      for (let at = 0; at < n; at += superBlock) {
        scales.set(fits.scales.subarray(at / groupSize, at / groupSize + groups));
        for (let g = 0; g < groups; g++) groupWeights[g] = total(weights, at + g * groupSize, groupSize);
        const fitted = importance !== undefined && shape.fitsScales;
        block.d = fitted
          ? packFitted(scales, groupWeights, scaleTop, block)
          : packScales(scales, scaleTop, block);
        roundAll(some.x, at, block, top);
        write(block, (done + at) / superBlock);
      }
    }
  };
}

/** Stores group scales as `unit * packed`; returns the unit. */
function packScales(scales: Float32Array, scaleTop: number, block: SymmetricBlock): number {
  const greatest = signedMax(scales, 0, groups);
  block.scales.fill(0);
  if (Math.abs(greatest) < negligible) return 0;
  const inverse = -scaleTop / greatest;
  packBy(inverse, scales, scaleTop, block);
  return f16ToF32(f32ToF16(1 / inverse));
}

const unit = { scales: new Float64Array(1), inverses: new Float64Array(1) };

function packFitted(
  scales: Float32Array,
  weights: Float64Array,
  scaleTop: number,
  block: SymmetricBlock,
): number {
  fitScale({ x: scales, weights, size: groups }, scaleTop, unit);
  packBy(unit.inverses[0]!, scales, scaleTop, block);
  return f16ToF32(f32ToF16(unit.scales[0]!));
}

function packBy(inverse: number, scales: Float32Array, scaleTop: number, block: SymmetricBlock): void {
  for (let g = 0; g < groups; g++) block.scales[g] = nearest(inverse * scales[g]!, -scaleTop, scaleTop - 1);
}

/** The levels for the stored scales. */
function roundAll(x: Float32Array, start: number, { d, scales, q }: SymmetricBlock, top: number): void {
  for (let i = 0; i < superBlock; i++) {
    const step = d * scales[i >> 4]!;
    q[i] = step === 0 ? 0 : nearest(x[start + i]! / step, -top, top - 1);
  }
}

/** Scales of the best roundings; weights are the squares of the elements. */
export function fitByScan(some: Groups, top: number, fits: ScaleFits): void {
  const { x, weights } = some;
  for (let i = 0; i < x.length; i++) weights[i] = x[i]! * x[i]!;
  fitScale(some, top, fits);
}

/** Sums for the least-squares scale `qx / qq`; weights are the squares of the elements. */
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
export function fitByDescent(some: Groups, top: number, { scales }: ScaleFits): void {
  if (native) native.fitByDescent(some.x, some.size, top, scales);
  else descendInJavaScript(some, top, scales);
}

export function descendInJavaScript({ x, size }: Groups, top: number, scales: Float64Array): void {
  for (let at = 0, g = 0; at < x.length; at += size, g++) scales[g] = descend(x, at, size, top);
}

function descend(x: Float32Array, at: number, size: number, top: number): number {
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

/** Moves an element to the best level for the others, if the error falls. Returns the new sums. */
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
