// What the iq2 and iq3 formats share: points of a lattice of magnitudes, with signs apart.

/** The 8 sign bits that 7 stored ones mean: their number is even. */
export const evenSigns = Uint8Array.from({ length: 128 }, (_, stored) => {
  const parity = (0x6996 >> ((stored ^ (stored >> 4)) & 15)) & 1; // of the bits of a nibble, from a table of 16 bits
  return stored | (parity << 7);
});

/** ±1 for each of 8 sign bits: [256, 8]. A table, since branches on random bits cost more than the rest. */
const signOf = Int8Array.from({ length: 256 * 8 }, (_, i) => (((i >> 3) >> (i & 7)) & 1 ? -1 : 1));

/** A point of 8 values, times `scale`; minus where the bit of `signs` is set. `at` is where the point begins in the grid. */
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

/** Two points of 4 values, likewise. */
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
