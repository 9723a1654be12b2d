import type { TokenChoice } from '../engine/token-choice.js';
import type { Proposal } from '../sampling/distribution.js';
import { needToken } from '../sampling/draws.js';
import type { Sampler } from '../sampling/index.js';
import { argmax } from '../sampling/select.js';
import type { Constraint } from './constraint.js';

/** `choice` among the tokens that a constraint allows. */
export const constrainedChoice = (choice: TokenChoice, constraint: Constraint): TokenChoice => ({
  ...choice,
  masks: (drafts) => constraint.masks(drafts),
  take(row, proposal) {
    if (!row.logits) return choice.take(row);
    const token = chosen(choice.sampler, constraint.masked(row.logits), proposal);
    needToken(token);
    return token;
  },
  accept(token) {
    choice.accept(token);
    constraint.accept(token);
  },
});

/** @param logits [vocabulary], those of the allowed tokens alone above -Infinity */
function chosen(sampler: Sampler | undefined, logits: Float32Array, proposal: Proposal | undefined): number {
  if (!sampler) return argmax(logits);
  return proposal ? sampler.check(logits, proposal) : sampler.sample(logits);
}
