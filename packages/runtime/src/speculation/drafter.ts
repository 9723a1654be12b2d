import type { Distribution } from '../sampling/distribution.js';

/** Tokens that may come next. */
export interface Draft {
  readonly tokens: readonly number[];
  /** What each was drawn from; absent where no chance was in it. */
  readonly proposals?: readonly Distribution[];
}

/** Guesses what follows. */
export interface Drafter {
  /** Up to `most` tokens, at least 1, that may follow `history`; perhaps none. */
  draft(history: readonly number[], most: number): Promise<Draft>;
  /** How many of the last draft's tokens were right. */
  learn(accepted: number): void;
  close(): void;
}

export const noDraft: Draft = { tokens: [] };
