import type { Distribution } from '../engine/sampling/distribution.js';

/** Guessed next tokens. */
export interface Draft {
  readonly tokens: readonly number[];
  /** The distribution that each token was drawn from; absent for drafts without randomness. */
  readonly proposals?: readonly Distribution[] | undefined;
  /** The token that must follow, whatever the model says. */
  readonly forced?: number | undefined;
}

/** Guesses next tokens. */
export interface Drafter {
  /**
   * 0 to `most` tokens (`most` ≥ 1) that may follow `history`. `calls`: those that share the steps that check them;
   * default 1.
   */
  draft(history: readonly number[], most: number, calls?: number): Promise<Draft>;
  /** Of the last draft, the first `drafted` tokens were checked, and the first `accepted` of these were right. */
  learn(drafted: number, accepted: number): void;
  /** Ends a pending `draft` with ABORTED. */
  cancel?(): void;
  close(): void;
}

export const noDraft: Draft = { tokens: [] };
