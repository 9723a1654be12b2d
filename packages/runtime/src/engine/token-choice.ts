import { type Draws, needToken } from '../sampling/draws.js';
import { Sampler, type SamplingOptions } from '../sampling/index.js';
import { samplingOf } from '../sampling/options.js';
import { needPossible } from '../sampling/select.js';
import type { RowOutput } from './step-output.js';

/** How the next token is taken from a step's output. */
export interface TokenChoice {
  /** The least that it needs of a step that draws nothing. */
  readonly head: 'argmax' | 'ranked';
  /** Draws the tokens; absent where the likeliest is taken as the device finds it. */
  readonly sampler?: Sampler;
  /** Where the device can draw them as the sampler would. */
  readonly draws?: Draws | undefined;
  /** The token. `row` is valid only during the call: the next step overwrites it. */
  take(row: RowOutput): number;
  /** Tells that a token has become part of the sequence. */
  accept(token: number): void;
}

/** The device itself finds the likeliest token: no logits cross into JavaScript. */
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

/**
 * The same choice for the first token of a text: its logits are looked at in any case, since the device finds a likeliest
 * token in NaN too. What broken weights do shows there.
 */
export const firstChoice = (choice: TokenChoice): TokenChoice => ({ ...choice, head: 'ranked' });

/** Whether the options only ever take the likeliest token of the logits as they are. */
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
  const { draws } = sampler;
  return {
    head: 'ranked',
    sampler,
    draws,
    take: ({ best, logits }) => (logits ? sampler.sample(logits, best) : draws!.take(best[0]!)),
    accept: (token) => sampler.accept(token),
  };
}
