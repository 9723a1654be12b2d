import type { Backend, InputOf, RepeatedStep, StepArrays, Tensor } from '@quern/core';
import { longestChain } from './longest-chain.js';
import type { StepRows } from './step-rows.js';

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
  /** [S, V / 32]: the tokens that each row may choose, for the head 'masked'. */
  readonly bits: Int32Array;
};

/** Words of a mask over V tokens. */
const wordsOf = (V: number): number => Math.ceil(V / 32);

/** For S rows that draw; V is 0 where none has a mask. */
export const sampleArrays = (S: number, V: number): SampleArrays => ({
  settings: Float32Array.from({ length: 4 * S }, (_, i) => greedy[i % 4]!),
  random: new Int32Array(2 * S * longestChain),
  draws: new Int32Array(S),
  bits: new Int32Array(S * wordsOf(V)),
});

/** Records the op `maskLogits`: logits [S, V] → [S, V]. */
export function recordMask(backend: Backend, logits: Tensor, input: InputOf<SampleArrays>): Tensor {
  const [S, V] = logits.shape as [number, number];
  return backend.maskLogits(logits, input('bits', [S, wordsOf(V)]));
}

/** Records the op `sample`: logits [S, V] → tokens [S]. */
export function recordSample(backend: Backend, logits: Tensor, input: InputOf<SampleArrays>): Tensor {
  const S = logits.shape[0]!;
  const random = input('random', [S * longestChain, 2]);
  return backend.sample(logits, input('settings', [S, 4]), random, input('draws'));
}

/**
 * Writes settings, random words of the next `count` steps, and masks. A row without draws takes the likeliest token; a
 * row without a mask may choose every token.
 */
export function writeDraws<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  rows: readonly Pick<StepRows, 'draws' | 'mask'>[],
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
  if (step.arrays.bits.length > 0) writeMasks(step, rows);
}

const everyToken = -1; // 32 bits

function writeMasks<Arrays extends StepArrays & SampleArrays>(
  step: RepeatedStep<Arrays>,
  rows: readonly Pick<StepRows, 'mask'>[],
): void {
  const { bits, draws } = step.arrays;
  const words = bits.length / draws.length;
  for (let s = 0; s < rows.length; s++) {
    const into = bits.subarray(s * words, (s + 1) * words);
    const { mask } = rows[s]!;
    if (mask) into.set(mask);
    else into.fill(everyToken);
  }
  step.write('bits');
}
