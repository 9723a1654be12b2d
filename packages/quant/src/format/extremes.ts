/** The element of largest magnitude, with its sign; of equals the first; 0 where there is none. */
export function signedMax(x: Float32Array, start: number, count: number): number {
  let best = 0;
  for (let i = start; i < start + count; i++) {
    if (Math.abs(x[i]!) > Math.abs(best)) best = x[i]!;
  }
  return best;
}

/** The least and the greatest element. */
export function range(x: Float32Array, start: number, count: number): { min: number; max: number } {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = start; i < start + count; i++) {
    if (x[i]! < min) min = x[i]!;
    if (x[i]! > max) max = x[i]!;
  }
  return { min, max };
}
