/** The integer nearest to `x` as an f32, ties to even, clamped to [low, high]; NaN gives `low`. */
export function nearest(x: number, low: number, high: number): number {
  if (!(x > low)) return low;
  if (x > high) return high;
  return Math.fround(Math.fround(x) + shift) - shift;
}

/** 1.5 * 2^23: adding it to a small f32 rounds to an integer. */
const shift = 12582912;
