import type { Adjustment } from '../sampling/adjust.js';
import type { Proposal } from '../sampling/distribution.js';
import { type Draws, likeliest, needToken } from '../sampling/draws.js';
import { Sampler, type SamplingOptions } from '../sampling/index.js';
import { samplingOf } from '../sampling/options.js';
import { needPossible } from '../sampling/select.js';
import type { RowOutput } from './step-output.js';

type Masks = Int32Array | undefined;

/** Chooses the next token from a step's output. */
export interface TokenChoice {
  /** The smallest sufficient head where the device draws no tokens. */
  readonly head: 'argmax' | 'ranked';
  /** Draws the tokens. Absent where the choice is the device's likeliest token. */
  readonly sampler?: Sampler;
  /** Present where the device can draw the same tokens as the sampler. */
  readonly draws?: Draws | undefined;
  /** How many of the likeliest tokens' log-probabilities are wanted; absent: none, nor the token's own. */
  readonly notedTokens?: number;
  /** What the device changes of the logits before it draws; absent: nothing. */
  readonly adjustment?: Adjustment | undefined;
  /**
   * [1 + drafts, vocabulary / 32]: one bit per token, as the op `maskLogits` reads them: may it be chosen next, and after
   * each draft? Absent or undefined: every token. Valid until the next call; a promise where they take long.
   */
  masks?(drafts: readonly number[], signal: AbortSignal | undefined): Masks | Promise<Masks>;
  /**
   * Chooses the token. `row` is valid only during the call: the next step overwrites it. With `proposal`, which needs a
   * sampler and a row with logits: accepts the proposed token or draws another one.
   */
  take(row: RowOutput, proposal?: Proposal): number;
  /** Adds a token to the sequence that penalties look at. */
  accept(token: number): void;
}

/** The device finds the likeliest token: no logits are copied to JavaScript. */
export const greedy: TokenChoice = {
  head: 'argmax',
  take({ best, logits }) {
    const token = best[0]!;
    if (logits) needPossible(logits, token);
    needToken(token);
    return token;
  },
  accept() {},
};

/** Draws among the one likeliest token: no random word matters. */
const first: Draws = {
  settings: likeliest,
  peek() {},
  take(token) {
    needToken(token);
    return token;
  },
};

/**
 * The same choice for the first token of a text, where broken weights (NaN) must show: the op `argmax` finds a likeliest
 * token even among NaN; the op `sample` and JavaScript do not.
 */
export const firstChoice = (choice: TokenChoice): TokenChoice =>
  choice.head === 'argmax' ? { ...choice, head: 'ranked', draws: first } : choice;

/** Whether the options always take the likeliest token of the unchanged logits. */
function isPlainGreedy(options: SamplingOptions): boolean {
  const {
    temperature,
    repetitionPenalty = 1,
    presencePenalty = 0,
    frequencyPenalty = 0,
    logitBias,
  } = options;
  const hasBias =
    logitBias !== undefined &&
    (logitBias instanceof Map ? logitBias.size : Object.keys(logitBias).length) > 0;
  return (
    temperature === 0 &&
    repetitionPenalty === 1 &&
    presencePenalty === 0 &&
    frequencyPenalty === 0 &&
    !hasBias
  );
}

/** @throws SamplingError BAD_OPTION */
export function tokenChoice(options: SamplingOptions, vocabulary: number): TokenChoice {
  const sampler = new Sampler(samplingOf(options), vocabulary);
  if (isPlainGreedy(options)) return greedy;
  const { draws, adjustment } = sampler;
  return {
    head: 'ranked',
    sampler,
    draws,
    adjustment,
    take({ best, logits }, proposal) {
      if (!logits) return draws.take(best[0]!);
      return proposal ? sampler.check(logits, proposal) : sampler.sample(logits, best);
    },
    accept: (token) => sampler.accept(token),
  };
}
