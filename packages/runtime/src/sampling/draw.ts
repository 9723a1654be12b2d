import { highestLogit } from './filter.js';

/**
 * One of `tokens` with probability softmax(logit / temperature). Their logits are above -Infinity; `random` is uniform
 * in [0, 1).
 */
export function draw(logits: Float32Array, tokens: Int32Array, temperature: number, random: number): number {
  const weights = weightsOf(logits, tokens, temperature);
  return tokens[drawIndex(weights, random)]!;
}

/** exp(logit / temperature) of each of `tokens`, up to a common factor. */
export function weightsOf(logits: Float32Array, tokens: Int32Array, temperature: number): Float64Array {
  const highest = highestLogit(logits, tokens);
  return Float64Array.from(tokens, (token) => Math.exp((logits[token]! - highest) / temperature));
}

/** Index i with probability weights[i] / Σ weights; Σ weights > 0. */
export function drawIndex(weights: Float64Array, random: number): number {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i]!;
  let left = random * total;
  let last = 0; // the last index with weight > 0, for a remainder left by rounding
  for (let i = 0; i < weights.length; i++) {
    if (weights[i]! > 0) last = i;
    left -= weights[i]!;
    if (left < 0) break;
  }
  return last;
}
