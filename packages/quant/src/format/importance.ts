/**
 * Weights of elements under an importance matrix: importance · √(variance + x²), with the variance about zero, over a
 * row or a block (ggml's weights for quantising). Result: `weights` from `to` on.
 */
export function weigh(
  x: Float32Array,
  at: number,
  importance: Float32Array,
  column: number,
  variance: number,
  weights: Float64Array,
  to: number,
  count: number,
): void {
  for (let i = 0; i < count; i++) {
    const value = x[at + i]!;
    weights[to + i] = importance[column + i]! * Math.sqrt(variance + value * value);
  }
}

/** Mean of x² over `count` elements. */
export function meanSquare(x: Float32Array, at: number, count: number): number {
  let sum = 0;
  for (let i = at; i < at + count; i++) sum += x[i]! * x[i]!;
  return sum / count;
}

/** Σ of `count` values. */
export function total(values: Float64Array, at: number, count: number): number {
  let sum = 0;
  for (let i = at; i < at + count; i++) sum += values[i]!;
  return sum;
}
