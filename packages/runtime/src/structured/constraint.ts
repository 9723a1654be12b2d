import type { Matcher } from '@quern/grammar';

/** Most tokens that are taken without being chosen. */
const mostForced = 64;

/** Which tokens may come next in one generation. */
export class Constraint {
  /** Tokens accepted by `takeForced`, for which `accept` is still to be called. */
  private ahead = 0;
  private readonly bits: Int32Array;

  constructor(private readonly matcher: Matcher) {
    this.bits = new Int32Array(matcher.vocabulary.words);
  }

  /** Writes one bit per token: may it come next? The layout of the op `maskLogits`. */
  mask(into: Int32Array): void {
    this.matcher.mask(into);
  }

  /** A copy of the logits, with -Infinity for tokens that may not come next. */
  masked(logits: Float32Array): Float32Array {
    this.mask(this.bits);
    const { bits } = this;
    return logits.map((logit, id) =>
      (bits[id >>> 5]! >>> (id & 31)) & 1 ? logit : Number.NEGATIVE_INFINITY,
    );
  }

  /** Goes on by a chosen token. */
  accept(token: number): void {
    if (this.ahead > 0) this.ahead--;
    else this.matcher.accept(token);
  }

  /** Goes on by the tokens that must come next, whatever the model says; at most `most`. */
  takeForced(most: number): number[] {
    const tokens = this.matcher.forced().slice(0, Math.min(most, mostForced));
    for (const token of tokens) this.matcher.accept(token);
    this.ahead += tokens.length;
    return tokens;
  }
}
