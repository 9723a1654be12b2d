import type { Backend, InputOf, RepeatedStep, StepArrays, Tensor } from '@quern/core';
import type { Draws } from '../sampling/draws.js';
import { longestChain } from './longest-chain.js';

/** Settings that take the likeliest token. */
const greedy = Float32Array.of(0, 0, 1, Number.NEGATIVE_INFINITY);

/** Inputs of the op `sample` at the end of a step: S rows. */
export type SampleArrays = {
  /** [S, 4] */
  readonly settings: Float32Array;
  /** [S · longestChain, 2]: random words of each row, for all steps of a chain. */
  readonly random: Int32Array;
  /** [S]: index of each row's random words; + 1 per step of a chain. */
  readonly draws: Int32Array;
};

export const sampleArrays = (S: number): SampleArrays => ({
  settings: Float32Array.from({ length: 4 * S }, (_, i) => greedy[i % 4]!),
  random: new Int32Array(2 * S * longestChain),
  draws: new Int32Array(S),
});

/** Records the op `sample`: logits [S, V] → tokens [S]. */
export function recordSample(backend: Backend, logits: Tensor, input: InputOf<SampleArrays>): Tensor {
  const S = logits.shape[0]!;
  const random = input('random', [S * longestChain, 2]);
  return backend.sample(logits, input('settings', [S, 4]), random, input('draws'));
}

/** Writes settings and random words of the next `count` steps. A row without draws takes the likeliest token. */
export function writeDraws<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  rows: readonly { readonly draws?: Draws | undefined }[],
  count: number,
): void {
  const { random, draws: next } = step.arrays;
  for (let s = 0; s < rows.length; s++) {
    const { draws } = rows[s]!;
    next[s] = s * longestChain;
    step.change('settings', draws?.settings ?? greedy, 4 * s);
    draws?.peek(random, 2 * next[s]!, count);
  }
  step.write('random', 'draws');
}
