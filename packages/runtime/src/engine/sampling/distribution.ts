import { highestLogit } from './filter.js';

/** Probabilities of the possible tokens; their sum is 1. All other tokens have probability 0. */
export interface Distribution {
  readonly tokens: Int32Array;
  readonly probabilities: Float64Array;
}

/** A guessed token, and the distribution that it was drawn from. */
export interface Proposal {
  readonly token: number;
  readonly from: Distribution;
}

/** One token with probability 1. */
export const certain = (token: number): Distribution => ({
  tokens: Int32Array.of(token),
  probabilities: Float64Array.of(1),
});

/** softmax(logit / temperature) over `tokens`; all their logits are above -Infinity. */
export function softmaxOf(logits: Float32Array, tokens: Int32Array, temperature: number): Distribution {
  return { tokens, probabilities: normalised(weightsOf(logits, tokens, temperature)) };
}

/**
 * One of `tokens` with probability softmax(logit / temperature). Their logits are above -Infinity; `random` is uniform
 * in [0, 1).
 */
export const draw = (logits: Float32Array, tokens: Int32Array, temperature: number, random: number): number =>
  tokens[drawIndex(weightsOf(logits, tokens, temperature), random)]!;

/** A token; `random` is uniform in [0, 1). */
export const drawFrom = ({ tokens, probabilities }: Distribution, random: number): number =>
  tokens[drawIndex(probabilities, random)]!;

/**
 * Speculative sampling (Leviathan et al. 2023, algorithm 1; Chen et al. 2023, algorithm 2) of one token. The proposed
 * token was drawn from q: it is returned with probability min(1, p / q); else a token drawn from max(0, p − q), which is
 * never the proposed one. The returned token is distributed as p, for any q.
 */
export function acceptOrRedraw(
  p: Distribution,
  { token: guess, from: q }: Proposal,
  nextRandom: () => number,
): number {
  const [wanted, proposed] = [probabilityOf(p, guess), probabilityOf(q, guess)];
  if (nextRandom() * proposed < wanted) return guess;
  const proposals = new Map(Array.from(q.tokens, (token, i) => [token, q.probabilities[i]!]));
  const left = p.probabilities.map((probability, i) =>
    Math.max(0, probability - (proposals.get(p.tokens[i]!) ?? 0)),
  );
  return p.tokens[drawIndex(left, nextRandom())]!;
}

function probabilityOf({ tokens, probabilities }: Distribution, token: number): number {
  const i = tokens.indexOf(token);
  return i < 0 ? 0 : probabilities[i]!;
}

function normalised(weights: Float64Array): Float64Array {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => weight / total);
}

/** exp(logit / temperature) of each of `tokens`, up to a common factor. */
function weightsOf(logits: Float32Array, tokens: Int32Array, temperature: number): Float64Array {
  const highest = highestLogit(logits, tokens);
  return Float64Array.from(tokens, (token) => Math.exp((logits[token]! - highest) / temperature));
}

/** Index i with probability weights[i] / Σ weights; Σ weights > 0. */
function drawIndex(weights: Float64Array, random: number): number {
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
