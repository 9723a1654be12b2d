/** Options of a decoding. */
export interface DecodeStart {
  /** The tokens continue a text. */
  readonly continues: boolean;
  /** The text is read token by token. */
  readonly streams: boolean;
}
