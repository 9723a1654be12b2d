import type { ChainOptions } from '../capability/graph.js';
import type { PlanChain } from '../driver.js';

/** A row that ended before the step has no token. */
const noToken = -1;

/** Hands the tokens of a running chain to its listener: each step once, in order. */
export class ChainListener {
  /** The next step that the listener is called for. */
  private next = 0;
  private open = true;
  private failure: { readonly error: unknown } | undefined;

  constructor(
    private readonly chain: PlanChain,
    private readonly limits: Int32Array,
    private readonly onTokens: NonNullable<ChainOptions['onTokens']>,
  ) {}

  /** `results` and `counts` have the tokens of the first `done` replays. */
  readonly onReplays = (done: number): void => {
    const { results, counts } = this.chain;
    const end = Math.min(done, results.length / counts.length);
    while (this.open && this.next < end) this.hand(this.next++);
  };

  /** Settles as `running` after the listener was called for all steps. An error of the listener comes first. */
  async ending(running: Promise<number>): Promise<number> {
    try {
      const done = await running;
      this.onReplays(done);
      if (!this.failure) return done;
    } catch (error) {
      if (!this.failure) throw error;
    } finally {
      this.open = false;
    }
    throw this.failure.error;
  }

  /** An error of the listener ends the chain: no row may have a further token. */
  private hand(step: number): void {
    try {
      this.onTokens(this.tokensOf(step), step);
    } catch (error) {
      this.open = false;
      this.failure ??= { error };
      this.limits.fill(0);
    }
  }

  /** [S]. A row has counts[row] tokens: of the steps before. */
  private tokensOf(step: number): Int32Array {
    const { results, counts } = this.chain;
    const tokens = results.slice(step * counts.length, (step + 1) * counts.length);
    for (const [row, count] of counts.entries()) if (count <= step) tokens[row] = noToken;
    return tokens;
  }
}
