/** The element of largest magnitude, with its sign; the first of equals; 0 if there is none. */
export function signedMax(x: Float32Array, start: number, count: number): number {
  let best = 0;
  for (let i = start; i < start + count; i++) {
    if (Math.abs(x[i]!) > Math.abs(best)) best = x[i]!;
  }
  return best;
}

/** The minimum and the maximum. */
export function range(x: Float32Array, start: number, count: number): { min: number; max: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = start; i < start + count; i++) {
    if (x[i]! < min) min = x[i]!;
    if (x[i]! > max) max = x[i]!;
  }
  return { min, max };
}
