// Scales for levels about zero and above zero, by weighted least squares over several roundings: the searches of ggml's
// make_qx_quants and make_qp_quants. Sums are taken in float64, so the last bit can differ from ggml's.

import { type Group, roundingShift } from './affine-fit.js';
import { signedMax } from './extremes.js';

const negligible = 1e-15;

/** x ≈ scale * q, with q the integer nearest to inverse * x. */
export interface ScaleFit {
  readonly scale: number;
  readonly inverse: number;
}

const none: ScaleFit = { scale: 0, inverse: 0 };

/** Σ of w·q·x and w·q² over a group, for one rounding. */
const sums = new Float64Array(2);

/** Tries roundings to `top - 0.9` … `top + 0.9` levels, q in [-top, top), and keeps the least weighted squared error. */
export function fitScale(group: Group, top: number): ScaleFit {
  const greatest = signedMax(group.x, group.at, group.size);
  if (Math.abs(greatest) < negligible) return none;
  let inverse = -top / greatest;
  sumLevels(group, inverse, top);
  let [qx, qq] = [sums[0]!, sums[1]!];
  for (let step = -9; step <= 9; step++) {
    const tried = -(top + 0.1 * step) / greatest;
    sumLevels(group, tried, top);
    if (!(sums[1]! > 0 && sums[0]! * sums[0]! * qq > qx * qx * sums[1]!)) continue;
    [inverse, qx, qq] = [tried, sums[0]!, sums[1]!];
  }
  return { scale: qq > 0 ? qx / qq : 0, inverse };
}

function sumLevels({ x, at, size, weights }: Group, inverse: number, top: number): void {
  let qx = 0;
  let qq = 0;
  for (let i = 0; i < size; i++) {
    const value = x[at + i]!;
    const rounded = inverse * value + roundingShift - roundingShift;
    // biome-ignore lint/complexity/useMathMinMax: twice as fast
    const q = rounded < -top ? -top : rounded > top - 1 ? top - 1 : rounded;
    const weighted = weights[i]! * q;
    qx += weighted * value;
    qq += weighted * q;
  }
  sums[0] = qx;
  sums[1] = qq;
}

const nearestWithin = (x: number, top: number): number => Math.min(top, Math.max(0, Math.round(x)));

/**
 * The scale of values ≥ 0 for levels in [0, top], which go to `levels`: the best of nine roundings, then one level at a
 * time is moved to where it lowers the error, up to five passes.
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
