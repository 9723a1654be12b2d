import type { TokenChoice } from '../engine/token-choice.js';
import type { Decoding } from '../generation/decoding.js';
import type { Constraint } from './constraint.js';

/** Tokens that must come next are not chosen: they are computed with the token before. */
export class ForcedDecoding implements Decoding {
  constructor(
    /** Of the chosen tokens. */
    private readonly chosen: Decoding,
    private readonly choice: TokenChoice,
    private readonly constraint: Constraint,
    private readonly signal: AbortSignal | undefined,
  ) {}

  get drafted(): number {
    return this.chosen.drafted;
  }

  get accepted(): number {
    return this.chosen.accepted;
  }

  async next(ids: readonly number[], most: number): Promise<readonly number[]> {
    const found = this.constraint.forcedInTurns(most - 1, this.signal);
    const forced = this.unbiased(found instanceof Promise ? await found : found); // an extra promise costs microseconds
    if (forced.length === 0) return this.chosen.next(ids, most);
    for (const token of forced) this.choice.accept(token);
    const chosen = await this.chosen.next([...ids, ...forced], most - forced.length);
    return [...forced, ...chosen];
  }

  /** Those before the first that `logitBias` forbids: others may spell the same text. */
  private unbiased(tokens: readonly number[]): readonly number[] {
    const { adjustment } = this.choice;
    const first = tokens.findIndex((token) => adjustment?.bias.get(token) === Number.NEGATIVE_INFINITY);
    return first < 0 ? tokens : tokens.slice(0, first);
  }

  close(): void {
    this.chosen.close();
  }
}
