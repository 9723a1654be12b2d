import type { Step } from '../step.js';

export interface OpTime {
  /** Name in the op table, fused ops under their own. */
  readonly op: string;
  /** The op and the weight that it reads: 'linear blk.3.attn_q.weight'; without one, the weight before it: 'silu after …'. */
  readonly name: string;
  readonly milliseconds: number;
}

/** Device time per op. */
export interface Timer {
  /** Runs a recorded step and tells what each op took, in the order in which they ran. */
  run(step: Step): Promise<readonly OpTime[]>;
}
