// The search of ggml's make_qkx2_quants and make_qkx3_quants: try several roundings of a group, refit scale and minimum to
// each by weighted least squares, keep the best. Sums are taken in float64, so the last bit can differ from ggml's.

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
  const { x, at, size, weights } = group;
  let [w, wx, wxx, min, max] = [0, 0, 0, 0, Number.NEGATIVE_INFINITY];
  for (let i = 0; i < size; i++) {
    const value = x[at + i]!;
    const weight = weights[i]!;
    w += weight;
    wx += weight * value;
    wxx += weight * value * value;
    if (value < min) min = value;
    if (value > max) max = value;
  }
  if (!(max > min)) {
    q.fill(0, qAt, qAt + size);
    return { scale: 0, lift: 0 - min };
  }
  let [scale, lift, inverse] = [(max - min) / top, 0 - min, top / (max - min)];
  let [bestInverse, bestLift] = [inverse, lift]; // of the rounding, which the fit to it then moves
  sumLevels(group, inverse, lift, top);
  const errorOf = (s: number, m: number): number =>
    search.error === 'squared'
      ? s * s * sums[1]! + m * m * w + wxx - 2 * s * (m * sums[0]! + sums[2]!) + 2 * m * wx
      : absoluteError(group, inverse, lift, top, s, m);
  let best = errorOf(scale, lift);
  for (let step = 0; step <= search.steps; step++) {
    inverse = (search.first + search.step * step + top) / (max + lift);
    sumLevels(group, inverse, lift, top);
    const [wq, wqq, wqx] = [sums[0]!, sums[1]!, sums[2]!];
    const determinant = w * wqq - wq * wq;
    if (!(determinant > 0)) continue; // all levels are equal
    let s = (w * wqx - wx * wq) / determinant;
    let m = (wq * wqx - wqq * wx) / determinant;
    if (m < 0) [s, m] = [wqx / wqq, 0];
    const error = errorOf(s, m);
    if (error < best) [best, bestInverse, bestLift, scale, lift] = [error, inverse, lift, s, m];
  }
  for (let i = 0; i < size; i++) q[qAt + i] = level(bestInverse * (x[at + i]! + bestLift), top);
  return { scale, lift };
}

/** The integer nearest to x within [0, top]; NaN becomes 0 when stored. */
function level(x: number, top: number): number {
  const rounded = x + roundingShift - roundingShift;
  return rounded < 0 ? 0 : Math.min(rounded, top);
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
