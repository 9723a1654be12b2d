/**
 * The first numbers of each embedding.
 * @param rows [S · width]
 * @param normalise whether they get length 1 again
 * @returns [S · count]
 */
export function firstNumbers(
  rows: Float32Array,
  width: number,
  count: number,
  normalise: boolean,
): Float32Array {
  const S = rows.length / width;
  const shorter = new Float32Array(S * count);
  for (let s = 0; s < S; s++) {
    const row = rows.subarray(s * width, s * width + count);
    const length = normalise ? Math.hypot(...row) || 1 : 1;
    for (const [i, value] of row.entries()) shorter[s * count + i] = value / length;
  }
  return shorter;
}
