// The search of ggml's make_qkx2_quants and make_qkx3_quants: try several roundings of a group, refit scale and minimum to
// each by weighted least squares, keep the best. Sums are taken in float64, so the last bit can differ from ggml's.
// The loops run for every element of a model some forty times: no closures over numbers in them, and no small arrays.

/** x ≈ scale * q - lift, with lift ≥ 0. */
export interface AffineFit {
  readonly scale: number;
  readonly lift: number;
}

/** Roundings tried: the group's range is spread over `top + first`, `top + first + step`, … levels. */
export interface AffineSearch {
  readonly first: number;
  readonly step: number;
  readonly steps: number;
  readonly error: 'absolute' | 'squared';
}

/** The search where an importance matrix says what each element counts. */
export const weightedSearch: AffineSearch = { first: -0.9, step: 0.05, steps: 36, error: 'squared' };

/** A group of elements, and what each counts. Reused, for there are millions of groups. */
export interface Group {
  readonly x: Float32Array;
  /** Where the group begins in x. */
  at: number;
  readonly size: number;
  /** [size] */
  readonly weights: Float64Array;
}

/** Σ w, Σ w·x, Σ w·x², min (at most 0) and max of a group. */
const whole = new Float64Array(5);

/** Σ of w·q, w·q² and w·q·x over a group, for one rounding. */
const sums = new Float64Array(3);

/** Added to a small double it leaves no room for a fraction: 1.5 · 2^52. */
export const roundingShift = 6755399441055744;

/**
 * The best scale and lift found for q in [0, top]; the levels go to `q` from `qAt`. Each better fit moves the lift from which
 * the next roundings start.
 */
export function fitAffine(
  group: Group,
  top: number,
  search: AffineSearch,
  q: Uint8Array,
  qAt: number,
): AffineFit {
  sumGroup(group);
  const w = whole[0]!;
  const wx = whole[1]!;
  const min = whole[3]!;
  const max = whole[4]!;
  if (!(max > min)) {
    q.fill(0, qAt, qAt + group.size);
    return { scale: 0, lift: 0 - min };
  }
  let scale = (max - min) / top;
  let lift = 0 - min;
  let bestInverse = 1 / scale; // of the rounding, which the fit to it then moves
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
  const { x, at, size } = group;
  for (let i = 0; i < size; i++) q[qAt + i] = level(bestInverse * (x[at + i]! + bestLift), top);
  return { scale, lift };
}

function sumGroup({ x, at, size, weights }: Group): void {
  let w = 0;
  let wx = 0;
  let wxx = 0;
  let min = 0;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < size; i++) {
    const value = x[at + i]!;
    const weighted = weights[i]! * value;
    w += weights[i]!;
    wx += weighted;
    wxx += weighted * value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  whole[0] = w;
  whole[1] = wx;
  whole[2] = wxx;
  whole[3] = min;
  whole[4] = max;
}

/** The integer nearest to x within [0, top]; NaN becomes 0 when stored. */
function level(x: number, top: number): number {
  const rounded = x + roundingShift - roundingShift;
  // Math.min would also have to tell -0 from 0, which takes twice as long.
  // biome-ignore lint/complexity/useMathMinMax: as above
  return rounded < 0 ? 0 : rounded > top ? top : rounded;
}

function sumLevels({ x, at, size, weights }: Group, inverse: number, lift: number, top: number): void {
  let wq = 0;
  let wqq = 0;
  let wqx = 0;
  for (let i = 0; i < size; i++) {
    const value = x[at + i]!;
    const q = level(inverse * (value + lift), top);
    const weighted = weights[i]! * q;
    wq += weighted;
    wqq += weighted * q;
    wqx += weighted * value;
  }
  sums[0] = wq;
  sums[1] = wqq;
  sums[2] = wqx;
}

/** The error of x ≈ s * q - m; for the squared one the sums of the rounding suffice. */
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
  for (let i = 0; i < size; i++) {
    const value = x[at + i]!;
    sum += weights[i]! * Math.abs(s * level(inverse * (value + lift), top) - m - value);
  }
  return sum;
}
