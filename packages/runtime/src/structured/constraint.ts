import { RuntimeError } from '../error.js';
import type { TokenMatcher } from './token-matcher.js';

/** Most tokens that are taken without being chosen. */
const mostForced = 64;

export interface AllowedDrafts {
  readonly tokens: readonly number[];
  /** The token that must come after them. */
  readonly forced?: number;
}

/** Which tokens may come next in one generation. Its methods throw RuntimeError BAD_GRAMMAR beyond the grammar's bounds. */
export class Constraint {
  private bits = new Int32Array(0);

  /** @param forces false: every token is chosen, because its log-probability is wanted */
  constructor(
    private readonly matcher: TokenMatcher,
    private readonly forces = true,
  ) {}

  /**
   * [1 + drafts, words], one bit per token: may it come next, and after each of `drafts`, which must be allowed? The
   * layout of the op `maskLogits`. Valid until the next call. Undefined: every token may, everywhere.
   */
  masks(drafts: readonly number[] = []): Int32Array | undefined {
    if (drafts.length === 0 && this.matcher.isFree) return undefined;
    const { words } = this.matcher.vocabulary;
    const bits = this.room(1 + drafts.length);
    let free = true;
    this.following(drafts, (at) => {
      free &&= this.matcher.isFree === true;
      this.matcher.mask(bits.subarray(at * words, (at + 1) * words));
    });
    return free ? undefined : bits;
  }

  /**
   * `masks` in turns of the event loop, where one is not enough. The place must stay as it is meanwhile. Rejects with the
   * reason of `signal` at the turn after it aborts.
   */
  masksInTurns(
    drafts: readonly number[],
    signal: AbortSignal | undefined,
  ): Int32Array | undefined | Promise<Int32Array | undefined> {
    const settled = settle(this.matcher, signal);
    if (settled) return settled.then(() => this.masksInTurns(drafts, signal));
    if (drafts.length > 0) return this.draftMasks(drafts, signal);
    if (this.matcher.isFree) return undefined;
    const found = withinBounds(() => this.matcher.maskInTurns(this.room(1), signal));
    return found ? found.then(() => this.room(1), outOfBounds) : this.room(1);
  }

  /** The masks after drafts, those before them first: then `masks` has them at hand. */
  private async draftMasks(
    drafts: readonly number[],
    signal: AbortSignal | undefined,
  ): Promise<Int32Array | undefined> {
    const ahead = this.matcher.clone();
    for (const token of [undefined, ...drafts]) {
      if (token !== undefined) withinBounds(() => ahead.accept(token));
      await this.findMask(ahead, signal);
    }
    return this.masks(drafts);
  }

  /** Then the mask at the place of `matcher` is at hand. */
  private async findMask(matcher: TokenMatcher, signal: AbortSignal | undefined): Promise<void> {
    await settle(matcher, signal);
    if (!matcher.isFree)
      await withinBounds(() => matcher.maskInTurns(this.room(1), signal))?.catch(outOfBounds);
  }

  /** Space for the bits of `masks` masks. */
  private room(masks: number): Int32Array {
    const size = masks * this.matcher.vocabulary.words;
    if (this.bits.length < size) this.bits = new Int32Array(size);
    return this.bits.subarray(0, size);
  }

  /** The tokens that may come next; empty where every token may. */
  allowedTokens(): number[] {
    const found: number[] = [];
    for (const [at, word] of (this.masks() ?? []).entries())
      for (let bit = 0; bit < 32; bit++) if ((word >>> bit) & 1) found.push(at * 32 + bit);
    return found;
  }

  /** Goes on by a token. */
  accept(token: number): void {
    withinBounds(() => this.matcher.accept(token));
  }

  /**
   * The tokens that must come next, whatever the model says; at most `most`. In turns of the event loop: a promise where
   * one is not enough. The place must stay as it is meanwhile.
   */
  forcedInTurns(most: number, signal: AbortSignal | undefined): number[] | Promise<number[]> {
    if (!this.forces) return [];
    const found = withinBounds(() => this.matcher.forcedInTurns(signal));
    const first = (tokens: number[]) => tokens.slice(0, Math.min(most, mostForced));
    return found instanceof Promise ? found.then(first, outOfBounds) : first(found);
  }

  /**
   * The first tokens of `drafts`: each may come there, and after the last one a token may be `forced`. In turns of the
   * event loop; masks at their places are at hand afterwards.
   */
  async allowed(drafts: readonly number[], signal?: AbortSignal): Promise<AllowedDrafts> {
    const ahead = this.fork();
    for (const [i, token] of drafts.entries()) {
      await this.findMask(ahead.matcher, signal);
      if (!withinBounds(() => ahead.matcher.allows(token))) return { tokens: drafts.slice(0, i) };
      ahead.accept(token);
      const [forced] = await ahead.forcedInTurns(1, signal);
      if (forced !== undefined) return { tokens: drafts.slice(0, i + 1), forced };
    }
    return { tokens: drafts };
  }

  /** An independent constraint at the same place. */
  fork(): Constraint {
    return new Constraint(this.matcher.clone(), this.forces);
  }

  /** Calls `act` here and after each of `drafts`, with the number of drafts before; then comes back. */
  private following(drafts: readonly number[], act: (at: number) => void): void {
    const { matcher } = this;
    const { length } = matcher;
    try {
      withinBounds(() => {
        act(0);
        for (const [i, token] of drafts.entries()) {
          matcher.accept(token);
          act(i + 1);
        }
      });
    } finally {
      matcher.rollback(matcher.length - length);
    }
  }
}

/** @throws RuntimeError BAD_GRAMMAR */
function settle(matcher: TokenMatcher, signal: AbortSignal | undefined): Promise<void> | undefined {
  return withinBounds(() => matcher.settle(signal))?.catch(outOfBounds);
}

/** A grammar is built while it is used, so its bounds may be met late. */
function withinBounds<T>(act: () => T): T {
  try {
    return act();
  } catch (cause) {
    return outOfBounds(cause);
  }
}

/** @throws RuntimeError BAD_GRAMMAR */
function outOfBounds(cause: unknown): never {
  throw new RuntimeError('BAD_GRAMMAR', (cause as Error).message, { cause });
}
