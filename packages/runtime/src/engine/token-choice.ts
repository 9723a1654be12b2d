import { Sampler, type SamplingOptions } from '../sampling/index.js';
import type { Head, StepOutput } from './step-output.js';

/** How the next token is taken from a step's output. */
export interface TokenChoice {
  /** The least that it needs. */
  readonly head: Head;
  /** The token after a row. The output is valid only during the call: the next step overwrites it. */
  take(output: StepOutput, row: number): number;
  /** Tells that a token has become part of the sequence. */
  accept(token: number): void;
}

/** The device itself finds the likeliest token: no logits cross into JavaScript. */
const greedy: TokenChoice = {
  head: 'argmax',
  take: ({ best, width }, row) => best[row * width]!,
  accept() {},
};

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
  const sampler = new Sampler(options, vocabulary);
  if (isPlainGreedy(options)) return greedy;
  return {
    head: 'ranked',
    take: ({ best, width, logits }, row) =>
      sampler.sample(
        logits!.subarray(row * vocabulary, (row + 1) * vocabulary),
        best.subarray(row * width, (row + 1) * width),
      ),
    accept: (token) => sampler.accept(token),
  };
}
