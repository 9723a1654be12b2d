/** How fast the estimate follows what happens: it remembers about the last ten tokens. */
const learningRate = 0.1;
/** How fast it forgets while nothing is drafted, so that bad luck is not the end of drafting. */
const forgettingRate = 0.002;

/** How many tokens to draft. */
export interface LengthChoice {
  /** Tokens to draft: 0 to `most`; 0 where `most` is below 1. */
  choose(most: number): number;
  /** The result of one check: `drafted` tokens, of which the first `accepted` were right. */
  learn(drafted: number, accepted: number): void;
}

/** Always `most` tokens. */
export const longestDraft: LengthChoice = { choose: (most) => Math.max(0, most), learn() {} };

/**
 * How many tokens are worth drafting. If each is right with probability r, a draft of k gives 1 + r + … + rᵏ tokens
 * (Leviathan et al. 2023, equation 1) in the time of 1 + cost · k steps of one token; k is where that is the most per time.
 * Clocks have no part in it, so that the same seed gives the same tokens.
 */
export class DraftLength implements LengthChoice {
  private rate: number;

  /** @param prior the probability to begin with @param cost what a drafted token adds to a step of one */
  constructor(
    private readonly prior: number,
    private readonly cost: number,
  ) {
    this.rate = prior;
  }

  choose(most: number): number {
    let [best, length] = [1, 0];
    for (let k = 1, tokens = 1, last = 1; k <= most; k++) {
      last *= this.rate;
      tokens += last;
      const speed = tokens / (1 + this.cost * k);
      if (speed > best) [best, length] = [speed, k];
    }
    if (length === 0) this.rate += forgettingRate * (this.prior - this.rate);
    return length;
  }

  learn(drafted: number, accepted: number): void {
    for (let i = 0; i < accepted; i++) this.rate += learningRate * (1 - this.rate);
    if (accepted < drafted) this.rate -= learningRate * this.rate;
  }
}
