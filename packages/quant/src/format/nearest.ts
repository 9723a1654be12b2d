/** The integer nearest to `x` taken as an f32, ties to even, held within [low, high]; NaN gives `low`. */
export function nearest(x: number, low: number, high: number): number {
  if (!(x > low)) return low;
  if (x > high) return high;
  return Math.fround(Math.fround(x) + shift) - shift;
}

/** 1.5 * 2^23: added to an f32 of small magnitude it leaves no room for a fraction. */
const shift = 12582912;
