// The packed 6-bit scales of the K formats: 8 scales and 8 minimums (q4_k, q5_k), or 16 signed scales (q3_k), in 12 bytes.

/** The scale of group `j` (0..7) of a q4_k or q5_k block, 0..63; `at` is the offset of the 12 bytes. */
export function readScale(src: Uint8Array, at: number, j: number): number {
  return j < 4 ? src[at + j]! & 63 : (src[at + j + 4]! & 15) | ((src[at + j - 4]! >> 6) << 4);
}

/** The minimum of group `j` (0..7) of a q4_k or q5_k block, 0..63. */
export function readMin(src: Uint8Array, at: number, j: number): number {
  return j < 4 ? src[at + j + 4]! & 63 : (src[at + j + 4]! >> 4) | ((src[at + j]! >> 6) << 4);
}

/** Packs 8 scales and 8 minimums, each 0..63. */
export function writeScalesAndMins(
  dst: Uint8Array,
  at: number,
  scales: ArrayLike<number>,
  mins: ArrayLike<number>,
): void {
  for (let j = 0; j < 4; j++) {
    dst[at + j] = scales[j]! | ((scales[j + 4]! >> 4) << 6);
    dst[at + 4 + j] = mins[j]! | ((mins[j + 4]! >> 4) << 6);
    dst[at + 8 + j] = (scales[j + 4]! & 15) | ((mins[j + 4]! & 15) << 4);
  }
}

/** The signed scale of group `g` (0..15) of a q3_k block, -32..31. */
export function readSignedScale(src: Uint8Array, at: number, g: number): number {
  const low = g < 8 ? src[at + g]! & 15 : src[at + g - 8]! >> 4;
  const high = (src[at + 8 + (g & 3)]! >> (2 * (g >> 2))) & 3;
  return (low | (high << 4)) - 32;
}

/** Packs 16 signed scales, each -32..31. */
export function writeSignedScales(dst: Uint8Array, at: number, scales: ArrayLike<number>): void {
  dst.fill(0, at, at + 12);
  for (let g = 0; g < 16; g++) {
    const scale = scales[g]! + 32;
    dst[at + (g & 7)]! |= (scale & 15) << (g < 8 ? 0 : 4);
    dst[at + 8 + (g & 3)]! |= (scale >> 4) << (2 * (g >> 2));
  }
}
