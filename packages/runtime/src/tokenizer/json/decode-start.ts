/** How decoding begins. */
export interface DecodeStart {
  /** The tokens continue a text. */
  readonly continues: boolean;
  /** The caller reads the text token by token. */
  readonly streams: boolean;
}
