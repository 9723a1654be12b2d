// What the iq2 and iq3 formats share: points of a lattice of magnitudes, with signs apart.

/** The 8 sign bits that 7 stored ones mean: their number is even. */
export const evenSigns = Uint8Array.from({ length: 128 }, (_, stored) => {
  const parity = (0x6996 >> ((stored ^ (stored >> 4)) & 15)) & 1; // of the bits of a nibble, from a table of 16 bits
  return stored | (parity << 7);
});

/**
 * `count` values of a point, times `scale`; minus where the bit of `signs` is set.
 * @param at where the point begins in the grid
 */
export function putPoint(
  dst: Float32Array,
  to: number,
  grid: Int8Array,
  at: number,
  count: number,
  signs: number,
  scale: number,
): void {
  for (let j = 0; j < count; j++) {
    const x = scale * grid[at + j]!;
    dst[to + j] = (signs >> j) & 1 ? -x : x;
  }
}
