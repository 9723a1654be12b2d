/** How a block of 256 of iq1, iq2, iq3 or tq multiplies its whole numbers: `x = unit * scale * q`, all exact in f32. */
export interface IqFactors {
  readonly blockBytes: number;
  /** Of the block at byte `at`. */
  unit(src: Uint8Array, at: number): number;
  /** Of its group `g` of 16 elements, 0 to 15: odd, 1 to 31. */
  scale(src: Uint8Array, at: number, g: number): number;
}
