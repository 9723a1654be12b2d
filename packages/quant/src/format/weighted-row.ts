// Fits of a row with an importance matrix, shared by the formats with one scale per block.
import { type AffineFits, fitAffine, type Groups, weightedSearch } from './affine-fit.js';
import { meanSquare, weigh } from './importance.js';
import { fitScale, type ScaleFits } from './scale-fit.js';

/**
 * A row of floats in blocks of `size`. The weight of an element comes from its column's importance and the row's mean
 * square.
 */
function weighedRow(src: Float32Array, srcOffset: number, importance: Float32Array, size: number): Groups {
  const x = src.subarray(srcOffset, srcOffset + importance.length);
  const weights = new Float64Array(x.length);
  weigh(x, 0, importance, 0, meanSquare(x, 0, x.length), weights, 0, x.length);
  return { x, weights, size };
}

/** x ≈ scale * q for each block of a row, q in [-top, top). */
export function fitRowScales(
  src: Float32Array,
  srcOffset: number,
  importance: Float32Array,
  size: number,
  top: number,
): ScaleFits {
  const blocks = importance.length / size;
  const fits = { scales: new Float64Array(blocks), inverses: new Float64Array(blocks) };
  fitScale(weighedRow(src, srcOffset, importance, size), top, fits);
  return fits;
}

/** x ≈ scale * q - lift for each block of a row, q in [0, top]. */
export function fitRowAffine(
  src: Float32Array,
  srcOffset: number,
  importance: Float32Array,
  size: number,
  top: number,
): AffineFits {
  const blocks = importance.length / size;
  const [scales, lifts] = [new Float64Array(blocks), new Float64Array(blocks)];
  const fits = { scales, lifts, levels: new Uint8Array(importance.length) };
  fitAffine(weighedRow(src, srcOffset, importance, size), top, weightedSearch, fits);
  return fits;
}
