import type { Defined } from '@quern/core';
import type { SamplingOptions } from '../../../src/engine/sampling/options.js';

type Filters = Defined<Pick<SamplingOptions, 'topK' | 'topP' | 'minP' | 'temperature'>>;

/** The definition, slow: the probability of each token after top-k, top-p, min-p and temperature. */
export function tokenProbabilities(
  logits: Float32Array,
  { topK, topP, minP, temperature }: Filters,
): number[] {
  let kept = [...logits.keys()].filter((token) => logits[token]! > Number.NEGATIVE_INFINITY);
  kept.sort((a, b) => logits[b]! - logits[a]! || a - b);
  if (topK > 0) kept = kept.slice(0, topK);
  const probabilities = softmax(kept.map((token) => logits[token]!));
  let sum = 0;
  const enough = probabilities.findIndex((p) => {
    sum += p;
    return sum >= topP;
  });
  if (topP < 1 && enough >= 0) kept = kept.slice(0, enough + 1);
  kept = kept.filter((token) => logits[token]! >= logits[kept[0]!]! + Math.log(minP));
  const final = softmax(kept.map((token) => logits[token]! / temperature));
  const out = new Array<number>(logits.length).fill(0);
  for (const [i, token] of kept.entries()) out[token] = final[i]!;
  return out;
}

export function softmax(values: readonly number[]): number[] {
  const highest = Math.max(...values);
  const weights = values.map((value) => Math.exp(value - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** Pearson's statistic of observed counts against expected probabilities; categories of probability 0 must be empty. */
export function chiSquare(counts: readonly number[], probabilities: readonly number[]): number {
  const total = counts.reduce((sum, count) => sum + count, 0);
  return counts.reduce((sum, count, i) => {
    const expected = probabilities[i]! * total;
    if (expected === 0) return count === 0 ? sum : Number.POSITIVE_INFINITY;
    return sum + (count - expected) ** 2 / expected;
  }, 0);
}
