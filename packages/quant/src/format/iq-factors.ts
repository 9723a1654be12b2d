/** Factors of a block of 256 of iq1, iq2, iq3 or tq: `x = unit * scale * q`, q whole, all exact in f32. */
export interface IqFactors {
  readonly blockBytes: number;
  /** Unit of the block at byte `at`. */
  unit(src: Uint8Array, at: number): number;
  /** Scale of group `g` (0..15) of 16 elements: odd, 1 to 31. */
  scale(src: Uint8Array, at: number, g: number): number;
}
