import type { Step } from '../step.js';

export interface OpTime {
  /** Name in the op table; a fused op has its own name. */
  readonly op: string;
  /**
   * Op and its weight: 'linear blk.3.attn_q.weight'. An op without a weight names the weight before it: 'silu after …'.
   */
  readonly name: string;
  readonly milliseconds: number;
}

/** Device time per op. */
export interface Timer {
  /** Runs a recorded step. Resolves to the time of each op, in run order. */
  run(step: Step): Promise<readonly OpTime[]>;
}
