/** Learning rate of the estimate: an average over about the last ten tokens. */
const learningRate = 0.1;
/** Rate towards the prior while nothing is drafted: drafting resumes after a run of rejections. */
const forgettingRate = 0.002;

/** Chooses the draft length. */
export interface LengthChoice {
  /** Tokens to draft: 0 ≤ n ≤ `most`; 0 for `most` < 1. `calls`: those that share steps; default 1. */
  choose(most: number, calls?: number): number;
  /** Records a check: of `drafted` tokens, the first `accepted` were right. */
  learn(drafted: number, accepted: number): void;
}

/** Always `most` tokens. */
export const longestDraft: LengthChoice = { choose: (most) => Math.max(0, most), learn() {} };

/** Time that each further row adds to a step, in steps of one row: 0.1 to 0.3 on backend-cpu (docs/performance.md). */
export const rowCost = 0.2;

/**
 * Draft length k with the most tokens per time. If each draft token is right with probability r, k of them give 1 + r +
 * … + rᵏ tokens (Leviathan et al. 2023, equation 1) in the time of 1 + cost · k steps of one token. A step of n calls
 * takes 1 + rowCost · (n − 1), of which each call has the n-th part: among many calls, drafts save less and cost as much.
 * No clock is read: the same seed gives the same tokens.
 */
export class DraftLength implements LengthChoice {
  private rate: number;

  /** @param prior the initial r @param cost what a drafted token adds to a step of one token */
  constructor(
    private readonly prior: number,
    private readonly cost: number,
  ) {
    this.rate = prior;
  }

  choose(most: number, calls = 1): number {
    const share = (1 + rowCost * (calls - 1)) / calls;
    let [best, length] = [1, 0];
    for (let k = 1, tokens = 1, last = 1; k <= most; k++) {
      last *= this.rate;
      tokens += last;
      const speed = (share * tokens) / (share + this.cost * k);
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
