/** How decoding begins. */
export interface DecodeStart {
  /** The tokens go on from a text: none of them is the first of it. */
  readonly continues: boolean;
  /** The text is wanted as it grows, rather than all at once. */
  readonly streams: boolean;
}
