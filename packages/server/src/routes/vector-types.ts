/** [D] as whole numbers from -127 to 127, the largest magnitude at 127: angles are kept, lengths are not. */
export function signedBytes(row: Float32Array): number[] {
  const most = row.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  return Array.from(row, (value) => Math.round((127 * value) / most) + 0);
}

/** [ceil(D / 8)] bytes: a bit is 1 where the value is above 0, the first value is the highest bit of the first byte. */
export function packedBits(row: Float32Array): number[] {
  const bytes = new Array<number>(Math.ceil(row.length / 8)).fill(0);
  for (const [i, value] of row.entries()) if (value > 0) bytes[i >>> 3]! |= 0x80 >>> (i & 7);
  return bytes;
}
