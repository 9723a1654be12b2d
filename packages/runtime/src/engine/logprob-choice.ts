import { logprobsOf, type TokenLogprobs } from '../sampling/logprobs.js';
import type { TokenChoice } from './token-choice.js';

/** A choice that notes log-probabilities. */
export interface LogprobChoice extends TokenChoice {
  /** Those of the tokens that were taken, in order; the reader removes them. */
  readonly notes: TokenLogprobs[];
}

/** `choice`, with the log-probabilities of each token and of the `count` likeliest ones. All logits are read. */
export function logprobChoice(choice: TokenChoice, count: number): LogprobChoice {
  const notes: TokenLogprobs[] = [];
  return {
    ...choice,
    head: 'ranked',
    draws: undefined,
    notes,
    take(row) {
      const token = choice.take(row);
      notes.push(logprobsOf(row.logits!, row.best, token, count));
      return token;
    },
  };
}
