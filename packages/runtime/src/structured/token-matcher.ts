/** Which tokens may come next in a text, and after them. `Matcher` of @quern/grammar is one. */
export interface TokenMatcher {
  readonly vocabulary: { readonly words: number };
  /** Tokens accepted so far. */
  readonly length: number;
  /** Every token may come next: `mask` need not be asked. */
  readonly isFree?: boolean;
  /** Writes one bit per token, [vocabulary.words]. */
  mask(into: Int32Array): void;
  /** `mask` in turns of the event loop; undefined where one was enough. The matcher stays at its place meanwhile. */
  maskInTurns(into: Int32Array, signal?: AbortSignal): Promise<void> | undefined;
  /** Finds the place after the accepted tokens, in turns; undefined where it is known. All others wait for it at once. */
  settle(signal?: AbortSignal): Promise<void> | undefined;
  allows(token: number): boolean;
  /** Throws if the token is not allowed. */
  accept(token: number): void;
  /** The tokens that must come next. In turns: a promise where one is not enough. The matcher stays at its place. */
  forcedInTurns(signal?: AbortSignal): number[] | Promise<number[]>;
  /** Takes back the last `tokens` tokens. */
  rollback(tokens: number): void;
  /** An independent matcher at the same place. */
  clone(): TokenMatcher;
}
