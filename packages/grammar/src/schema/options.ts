/** White space between the tokens of JSON. */
export type WhiteSpace = 'none' | 'single' | 'any';

/** Order of the keys of objects. */
export type KeyOrder = 'schema' | 'any';

export interface SchemaOptions {
  /**
   * White space between the tokens of JSON. 'single' (default): at most one space or newline after { [ , : and before } ].
   * 'none': compact. 'any': up to 256 characters wherever JSON allows white space.
   */
  readonly whiteSpace?: WhiteSpace | undefined;
  /**
   * 'schema' (default): keys come in the order of `properties`; optional ones may be left out; keys that only `required` or
   * `dependentRequired` name, then those of `patternProperties` and `additionalProperties`, come behind them. 'any': in any
   * order.
   */
  readonly keyOrder?: KeyOrder | undefined;
  /** Formats outside the list in the README: 'ignore' (default; `grammar.notices` names them), or 'refuse': UNSUPPORTED. */
  readonly unknownFormats?: 'refuse' | 'ignore' | undefined;
}
