// The search of ggml's make_qkx2_quants and make_qkx3_quants: try several roundings of a group, refit scale and minimum
// to each by weighted least squares, keep the best. Sums are in float64, so the last bit can differ from ggml's. The
// loops run about forty times per element of a model: no closures over numbers and no small arrays inside. Sums have
// four lanes, added in order at the end, as in native/search-body.h: same bits.

import { type NativeSearch, native } from '../native.js';

/** For each group x ≈ scale * q - lift, lift ≥ 0. */
export interface AffineFits {
  /** [groups] */
  readonly scales: Float64Array;
  /** [groups] */
  readonly lifts: Float64Array;
  /** q per element. */
  readonly levels: Uint8Array;
}

/** The roundings to try: the group's range spread over `top + first`, `top + first + step`, … levels. */
export interface AffineSearch {
  readonly first: number;
  readonly step: number;
  readonly steps: number;
  readonly error: 'absolute' | 'squared';
}

/** The search with an importance matrix. */
export const weightedSearch: AffineSearch = { first: -0.9, step: 0.05, steps: 36, error: 'squared' };

/** Groups of elements, and the weight of each element in the error. */
export interface Groups {
  /** [groups · size] */
  readonly x: Float32Array;
  /** As x. */
  readonly weights: Float64Array;
  /** Elements per group: a multiple of 4, at most 32. */
  readonly size: number;
}

/** Lanes of a sum. */
export const lanes = 4;

/**
 * Finds the best scale and lift per group for q in [0, top], and the levels. Each better fit moves the lift at which
 * the next roundings start.
 */
export function fitAffine(groups: Groups, top: number, search: AffineSearch, fits: AffineFits): void {
  if (native) fitNatively(native, groups, top, search, fits);
  else fitInJavaScript(groups, top, search, fits);
}

export function fitNatively(
  { fitAffine }: NativeSearch,
  { x, weights, size }: Groups,
  top: number,
  { first, step, steps, error }: AffineSearch,
  { scales, lifts, levels }: AffineFits,
): void {
  fitAffine(x, weights, size, top, first, step, steps, error === 'absolute', scales, lifts, levels);
}

export function fitInJavaScript(groups: Groups, top: number, search: AffineSearch, fits: AffineFits): void {
  for (let at = 0, g = 0; at < groups.x.length; at += groups.size, g++)
    fitGroup({ ...groups, at }, g, top, search, fits);
}

/** The group that begins at `at`. */
interface Group extends Groups {
  readonly at: number;
}

/** Σ w, Σ w·x, Σ w·x², min (at most 0) and max of a group. */
const whole = new Float64Array(5);

/** Σ w·q, Σ w·q², Σ w·q·x of a group, for one rounding. */
const sums = new Float64Array(3);

/** 1.5 · 2^52: adding it to a small double rounds to an integer. */
export const roundingShift = 6755399441055744;

function fitGroup(group: Group, g: number, top: number, search: AffineSearch, fits: AffineFits): void {
  const { x, at, size } = group;
  sumGroup(group);
  const w = whole[0]!;
  const wx = whole[1]!;
  const min = whole[3]!;
  const max = whole[4]!;
  if (!(max > min)) {
    fits.levels.fill(0, at, at + size);
    fits.scales[g] = 0;
    fits.lifts[g] = 0 - min;
    return;
  }
  let scale = (max - min) / top;
  let lift = 0 - min;
  let bestInverse = 1 / scale; // of the rounding; the fit then moves the scale
  let bestLift = lift;
  sumLevels(group, bestInverse, lift, top);
  let best = errorOf(group, search, bestInverse, lift, top, scale, lift);
  for (let step = 0; step <= search.steps; step++) {
    const inverse = (search.first + search.step * step + top) / (max + lift);
    sumLevels(group, inverse, lift, top);
    const wq = sums[0]!;
    const wqq = sums[1]!;
    const wqx = sums[2]!;
    const determinant = w * wqq - wq * wq;
    if (!(determinant > 0)) continue; // all levels are equal
    const freeLift = (wq * wqx - wqq * wx) / determinant;
    const fitted = freeLift < 0 ? wqx / wqq : (w * wqx - wx * wq) / determinant;
    const fittedLift = Math.max(freeLift, 0);
    const error = errorOf(group, search, inverse, lift, top, fitted, fittedLift);
    if (!(error < best)) continue;
    best = error;
    bestInverse = inverse;
    bestLift = lift;
    scale = fitted;
    lift = fittedLift;
  }
  for (let i = at; i < at + size; i++) fits.levels[i] = level(bestInverse * (x[i]! + bestLift), top);
  fits.scales[g] = scale;
  fits.lifts[g] = lift;
}

function sumGroup({ x, at, size, weights }: Group): void {
  whole.fill(0);
  let min = 0;
  let max = Number.NEGATIVE_INFINITY;
  for (let lane = 0; lane < lanes; lane++) {
    let w = 0;
    let wx = 0;
    let wxx = 0;
    for (let i = at + lane; i < at + size; i += lanes) {
      const value = x[i]!;
      const weighted = weights[i]! * value;
      w += weights[i]!;
      wx += weighted;
      wxx += weighted * value;
      if (value < min) min = value;
      if (value > max) max = value;
    }
    whole[0]! += w;
    whole[1]! += wx;
    whole[2]! += wxx;
  }
  whole[3] = min;
  whole[4] = max;
}

/** The integer nearest to x in [0, top]; NaN becomes 0 when stored. */
function level(x: number, top: number): number {
  const rounded = x + roundingShift - roundingShift;
  // Math.min also distinguishes -0 from 0, and takes twice as long.
  // biome-ignore lint/complexity/useMathMinMax: as above
  return rounded < 0 ? 0 : rounded > top ? top : rounded;
}

function sumLevels({ x, at, size, weights }: Group, inverse: number, lift: number, top: number): void {
  sums.fill(0);
  for (let lane = 0; lane < lanes; lane++) {
    let wq = 0;
    let wqq = 0;
    let wqx = 0;
    for (let i = at + lane; i < at + size; i += lanes) {
      const value = x[i]!;
      const q = level(inverse * (value + lift), top);
      const weighted = weights[i]! * q;
      wq += weighted;
      wqq += weighted * q;
      wqx += weighted * value;
    }
    sums[0]! += wq;
    sums[1]! += wqq;
    sums[2]! += wqx;
  }
}

/** Error of x ≈ s * q - m. For the squared error the sums of the rounding are enough. */
function errorOf(
  group: Group,
  { error }: AffineSearch,
  inverse: number,
  lift: number,
  top: number,
  s: number,
  m: number,
): number {
  if (error === 'absolute') return absoluteError(group, inverse, lift, top, s, m);
  const [w, wx, wxx] = [whole[0]!, whole[1]!, whole[2]!];
  return s * s * sums[1]! + m * m * w + wxx - 2 * s * (m * sums[0]! + sums[2]!) + 2 * m * wx;
}

function absoluteError(
  { x, at, size, weights }: Group,
  inverse: number,
  lift: number,
  top: number,
  s: number,
  m: number,
): number {
  let sum = 0;
  for (let lane = 0; lane < lanes; lane++) {
    let part = 0;
    for (let i = at + lane; i < at + size; i += lanes) {
      const value = x[i]!;
      part += weights[i]! * Math.abs(s * level(inverse * (value + lift), top) - m - value);
    }
    sum += part;
  }
  return sum;
}
