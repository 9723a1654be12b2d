import type { TokenChoice } from '../engine/token-choice.js';
import { needToken } from '../sampling/draws.js';
import { argmax } from '../sampling/select.js';
import type { Constraint } from './constraint.js';

/** `choice` among the tokens that a constraint allows. */
export const constrainedChoice = (choice: TokenChoice, constraint: Constraint): TokenChoice => ({
  ...choice,
  mask: () => constraint.mask(),
  take(row) {
    if (!row.logits) return choice.take(row);
    const logits = constraint.masked(row.logits);
    const token = choice.sampler ? choice.sampler.sample(logits) : argmax(logits);
    needToken(token);
    return token;
  },
  accept(token) {
    choice.accept(token);
    constraint.accept(token);
  },
});
