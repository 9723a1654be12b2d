import { highestLogit } from './filter.js';

/** One of `tokens`, none at -Infinity, with probability softmax(logit / temperature); `random` is uniform in [0, 1). */
export function draw(logits: Float32Array, tokens: Int32Array, temperature: number, random: number): number {
  const weights = weightsOf(logits, tokens, temperature);
  return tokens[drawIndex(weights, random)]!;
}

/** exp(logit / temperature) of each of `tokens`, times some factor. */
export function weightsOf(logits: Float32Array, tokens: Int32Array, temperature: number): Float64Array {
  const highest = highestLogit(logits, tokens);
  return Float64Array.from(tokens, (token) => Math.exp((logits[token]! - highest) / temperature));
}

/** An index with a probability in proportion to its weight; some weight is above 0. */
export function drawIndex(weights: Float64Array, random: number): number {
  let total = 0;
  for (let i = 0; i < weights.length; i++) total += weights[i]!;
  let left = random * total;
  let last = 0; // the last that can be drawn, should rounding leave a remainder
  for (let i = 0; i < weights.length; i++) {
    if (weights[i]! > 0) last = i;
    left -= weights[i]!;
    if (left < 0) break;
  }
  return last;
}
