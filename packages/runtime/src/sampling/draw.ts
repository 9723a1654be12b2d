import { highestLogit } from './filter.js';

/** One of `tokens`, none at -Infinity, with probability softmax(logit / temperature); `random` is uniform in [0, 1). */
export function draw(logits: Float32Array, tokens: Int32Array, temperature: number, random: number): number {
  const highest = highestLogit(logits, tokens);
  const weights = new Float64Array(tokens.length);
  let total = 0;
  for (let i = 0; i < tokens.length; i++) {
    weights[i] = Math.exp((logits[tokens[i]!]! - highest) / temperature);
    total += weights[i]!;
  }
  let left = random * total;
  let last = 0; // the last token that can be drawn, should rounding leave a remainder
  for (let i = 0; i < tokens.length; i++) {
    if (weights[i]! > 0) last = i;
    left -= weights[i]!;
    if (left < 0) break;
  }
  return tokens[last]!;
}
