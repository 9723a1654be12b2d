// Scales for levels about zero and above zero, by weighted least squares over several roundings: the searches of ggml's
// make_qx_quants and make_qp_quants. Sums are in float64, so the last bit can differ from ggml's.

import { type NativeSearch, native } from '../native.js';
import { type Groups, lanes, roundingShift } from './affine-fit.js';
import { signedMax } from './extremes.js';

const negligible = 1e-15;

/** For each group x ≈ scale * q, q = integer nearest to inverse * x: [groups]. */
export interface ScaleFits {
  readonly scales: Float64Array;
  readonly inverses: Float64Array;
}

/** Σ w·q·x and Σ w·q² of a group, for one rounding. */
const sums = new Float64Array(2);

/**
 * Tries roundings to `top - 0.9` … `top + 0.9` levels, q in [-top, top), and keeps the smallest weighted squared error.
 */
export function fitScale(groups: Groups, top: number, fits: ScaleFits): void {
  if (native) fitNatively(native, groups, top, fits);
  else fitInJavaScript(groups, top, fits);
}

export function fitNatively(
  { fitScale }: NativeSearch,
  { x, weights, size }: Groups,
  top: number,
  { scales, inverses }: ScaleFits,
): void {
  fitScale(x, weights, size, top, scales, inverses);
}

export function fitInJavaScript(groups: Groups, top: number, fits: ScaleFits): void {
  for (let at = 0, g = 0; at < groups.x.length; at += groups.size, g++) fitGroup(groups, at, g, top, fits);
}

function fitGroup(groups: Groups, at: number, g: number, top: number, { scales, inverses }: ScaleFits): void {
  scales[g] = 0;
  inverses[g] = 0;
  const greatest = signedMax(groups.x, at, groups.size);
  if (Math.abs(greatest) < negligible) return;
  let inverse = -top / greatest;
  sumLevels(groups, at, inverse, top);
  let qx = sums[0]!;
  let qq = sums[1]!;
  for (let step = -9; step <= 9; step++) {
    const tried = -(top + 0.1 * step) / greatest;
    sumLevels(groups, at, tried, top);
    if (!(sums[1]! > 0 && sums[0]! * sums[0]! * qq > qx * qx * sums[1]!)) continue;
    inverse = tried;
    qx = sums[0]!;
    qq = sums[1]!;
  }
  scales[g] = qq > 0 ? qx / qq : 0;
  inverses[g] = inverse;
}

function sumLevels({ x, size, weights }: Groups, at: number, inverse: number, top: number): void {
  sums.fill(0);
  for (let lane = 0; lane < lanes; lane++) {
    let qx = 0;
    let qq = 0;
    for (let i = at + lane; i < at + size; i += lanes) {
      const value = x[i]!;
      const rounded = inverse * value + roundingShift - roundingShift;
      // biome-ignore lint/complexity/useMathMinMax: twice as fast
      const q = rounded < -top ? -top : rounded > top - 1 ? top - 1 : rounded;
      const weighted = weights[i]! * q;
      qx += weighted * value;
      qq += weighted * q;
    }
    sums[0]! += qx;
    sums[1]! += qq;
  }
}

const nearestWithin = (x: number, top: number): number => Math.min(top, Math.max(0, Math.round(x)));

/**
 * The scale of values ≥ 0 for levels in [0, top], which are stored in `levels`: the best of nine roundings, then single
 * levels are moved while the error falls, up to five passes.
 */
export function fitPositive(
  values: Float64Array,
  weights: Float64Array,
  top: number,
  levels: Uint8Array,
): number {
  const greatest = values.reduce((most, value) => Math.max(value, most), 0);
  levels.fill(0);
  if (greatest < negligible) return 0;
  const inverse = bestInverse(values, weights, top, greatest);
  let [qx, qq] = [0, 0];
  for (let i = 0; i < values.length; i++) {
    levels[i] = nearestWithin(inverse * values[i]!, top);
    qx += weights[i]! * values[i]! * levels[i]!;
    qq += weights[i]! * levels[i]! * levels[i]!;
  }
  for (let pass = 0, moved = true; pass < 5 && moved; pass++) {
    moved = false;
    for (let i = 0; i < values.length; i++) {
      const [value, weight, before] = [values[i]!, weights[i]!, levels[i]!];
      const [restX, restQ] = [qx - weight * value * before, qq - weight * before * before];
      if (!(restX > 0 && restQ > 0)) continue;
      const after = nearestWithin((value * restQ) / restX, top);
      if (after === before) continue;
      const [newX, newQ] = [restX + weight * value * after, restQ + weight * after * after];
      if (!(newX * newX * qq > qx * qx * newQ)) continue;
      levels[i] = after;
      [qx, qq, moved] = [newX, newQ, true];
    }
  }
  return qq > 0 ? qx / qq : 0;
}

function bestInverse(values: Float64Array, weights: Float64Array, top: number, greatest: number): number {
  let [best, least] = [top / greatest, Number.POSITIVE_INFINITY];
  for (const step of [0, -4, -3, -2, -1, 1, 2, 3, 4]) {
    const inverse = (top + 0.1 * step) / greatest;
    let error = 0;
    for (let i = 0; i < values.length; i++) {
      const difference = values[i]! - nearestWithin(inverse * values[i]!, top) / inverse;
      error += weights[i]! * difference * difference;
    }
    if (error < least) [best, least] = [inverse, error];
  }
  return best;
}
