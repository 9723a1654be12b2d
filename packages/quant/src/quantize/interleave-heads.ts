/**
 * Reorders the rows of each head from Hugging Face's order (rows p and p + d / 2 rotate together) to the order of
 * llama.cpp's Llama (these rows are neighbours).
 * @param x [heads · d, rowLength], d even
 */
export function interleaveHeads(x: Float32Array, rowLength: number, d: number): Float32Array {
  const result = new Float32Array(x.length);
  const rows = x.length / rowLength;
  for (let row = 0; row < rows; row++) {
    const p = row % d;
    const from = row - p + (p >> 1) + (p & 1) * (d >> 1);
    result.set(x.subarray(from * rowLength, (from + 1) * rowLength), row * rowLength);
  }
  return result;
}
