import type { Matcher } from '@quern/grammar';
import { RuntimeError } from '../error.js';

/** Most tokens that are taken without being chosen. */
const mostForced = 64;

/** Which tokens may come next in one generation. Its methods throw RuntimeError BAD_GRAMMAR beyond the grammar's bounds. */
export class Constraint {
  /** Tokens accepted by `takeForced`, for which `accept` is still to be called. */
  private ahead = 0;
  private readonly bits: Int32Array;

  constructor(private readonly matcher: Matcher) {
    this.bits = new Int32Array(matcher.vocabulary.words);
  }

  /** One bit per token: may it come next? The layout of the op `maskLogits`. Valid until the next call. */
  mask(): Int32Array {
    withinBounds(() => this.matcher.mask(this.bits));
    return this.bits;
  }

  /** A copy of the logits, with -Infinity for tokens that may not come next. */
  masked(logits: Float32Array): Float32Array {
    const bits = this.mask();
    return logits.map((logit, id) =>
      (bits[id >>> 5]! >>> (id & 31)) & 1 ? logit : Number.NEGATIVE_INFINITY,
    );
  }

  /** Goes on by a chosen token. */
  accept(token: number): void {
    if (this.ahead > 0) this.ahead--;
    else withinBounds(() => this.matcher.accept(token));
  }

  /** Goes on by the tokens that must come next, whatever the model says; at most `most`. */
  takeForced(most: number): number[] {
    const tokens = withinBounds(() => this.matcher.forced()).slice(0, Math.min(most, mostForced));
    for (const token of tokens) this.matcher.accept(token);
    this.ahead += tokens.length;
    return tokens;
  }
}

/** A grammar is built while it is used, so its bounds may be met late. */
function withinBounds<T>(act: () => T): T {
  try {
    return act();
  } catch (cause) {
    throw new RuntimeError('BAD_GRAMMAR', (cause as Error).message, { cause });
  }
}
