import type { RowOutput } from '../engine/step-output.js';
import type { TokenChoice } from '../engine/token-choice.js';
import { badOption } from '../error.js';
import type { Proposal } from '../sampling/distribution.js';
import { needToken } from '../sampling/draws.js';
import { type Sampler, SamplingError } from '../sampling/index.js';
import { argmax } from '../sampling/select.js';
import type { Constraint } from './constraint.js';

/** `choice` among the tokens that a constraint allows. */
export const constrainedChoice = (choice: TokenChoice, constraint: Constraint): TokenChoice => ({
  ...choice,
  masks: (drafts, signal) => constraint.masksInTurns(drafts, signal),
  take(row, proposal) {
    try {
      return taken(choice, constraint, row, proposal);
    } catch (error) {
      if (error instanceof SamplingError && error.code === 'BAD_LOGITS') needUnbiased(choice, constraint);
      throw error;
    }
  },
  accept(token) {
    choice.accept(token);
    constraint.accept(token);
  },
});

function taken(
  choice: TokenChoice,
  constraint: Constraint,
  row: RowOutput,
  proposal: Proposal | undefined,
): number {
  if (!row.logits) return choice.take(row);
  const token = chosen(choice.sampler, constraint.masked(row.logits), proposal);
  needToken(token);
  return token;
}

/** @throws RuntimeError BAD_OPTION where no allowed token is left */
function needUnbiased({ adjustment }: TokenChoice, constraint: Constraint): void {
  const allowed = constraint.allowedTokens();
  if (
    allowed.length === 0 ||
    !allowed.every((token) => adjustment?.bias.get(token) === Number.NEGATIVE_INFINITY)
  )
    return;
  const more = allowed.length > 8 ? ' …' : '';
  throw badOption(
    `logitBias forbids every token that the schema, grammar or tools allow here (${allowed.length}: ${allowed.slice(0, 8).join(', ')}${more}): allow one of them`,
    'logitBias',
  );
}

/** @param logits [vocabulary], those of the allowed tokens alone above -Infinity */
function chosen(sampler: Sampler | undefined, logits: Float32Array, proposal: Proposal | undefined): number {
  if (!sampler) return argmax(logits);
  return proposal ? sampler.check(logits, proposal) : sampler.sample(logits);
}
