import { logprobsOf, type TokenLogprob, type TokenLogprobs } from '../sampling/logprobs.js';
import type { RowNotes } from './step-output.js';
import type { TokenChoice } from './token-choice.js';

/** A choice that notes log-probabilities. */
export interface LogprobChoice extends TokenChoice {
  /** Those of the tokens that were taken, in order; the reader removes them. */
  readonly notes: TokenLogprobs[];
}

/** `choice`, with the log-probabilities of each token and of the `count` likeliest ones. */
export function logprobChoice(choice: TokenChoice, count: number): LogprobChoice {
  const notes: TokenLogprobs[] = [];
  return {
    ...choice,
    notedTokens: count,
    notes,
    take(row, proposal) {
      const token = choice.take(row, proposal);
      notes.push(row.notes ? read(row.notes, token, count) : logprobsOf(row.logits!, row.best, token, count));
      return token;
    },
  };
}

function read({ chosen, tops, topLogprobs }: RowNotes, token: number, count: number): TokenLogprobs {
  const top = Array.from(
    tops.subarray(0, count),
    (id, i): TokenLogprob => ({ token: id, logprob: topLogprobs[i]! }),
  );
  return { token, logprob: chosen, top };
}
