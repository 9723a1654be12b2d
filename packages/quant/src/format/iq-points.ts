// Shared by the iq2 and iq3 formats: points of a lattice of magnitudes, with separate signs.

/** The 8 sign bits for 7 stored bits: the number of set bits is even. */
export const evenSigns = Uint8Array.from({ length: 128 }, (_, stored) => {
  const parity = (0x6996 >> ((stored ^ (stored >> 4)) & 15)) & 1; // parity of a nibble, from a table of 16 bits
  return stored | (parity << 7);
});

/** ±1 for each of 8 sign bits: [256, 8]. A table, because branches on random bits are slower. */
const signOf = Int8Array.from({ length: 256 * 8 }, (_, i) => (((i >> 3) >> (i & 7)) & 1 ? -1 : 1));

/** A point of 8 values times `scale`, negated where a bit of `signs` is set. `at`: index of the point in the grid. */
export function putEight(
  dst: Float32Array,
  to: number,
  grid: Int8Array,
  at: number,
  signs: number,
  scale: number,
): void {
  const sign = 8 * signs;
  for (let j = 0; j < 8; j++) dst[to + j] = scale * (grid[at + j]! * signOf[sign + j]!);
}

/** Two points of 4 values, in the same way. */
export function putFours(
  dst: Float32Array,
  to: number,
  grid: Int8Array,
  first: number,
  second: number,
  signs: number,
  scale: number,
): void {
  const sign = 8 * signs;
  for (let j = 0; j < 4; j++) {
    dst[to + j] = scale * (grid[first + j]! * signOf[sign + j]!);
    dst[to + 4 + j] = scale * (grid[second + j]! * signOf[sign + 4 + j]!);
  }
}
