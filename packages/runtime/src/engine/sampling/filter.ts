import { argmax, byLikelihood, topTokens } from './select.js';

/**
 * Tokens kept by top-k, then top-p: likeliest first where either one cuts, by id where neither does. `topK` 0 and
 * `topP` 1 keep all tokens above -Infinity. Probabilities for top-p are relative to the tokens kept by top-k.
 *
 * @throws SamplingError BAD_LOGITS
 */
export function candidates(logits: Float32Array, topK: number, topP: number): Int32Array {
  if (topK === 0 && topP === 1) return possibleTokens(logits);
  if (topK === 0) return fullNucleus(logits, topP);
  return withinTopP(logits, topTokens(logits, topK), topP);
}

/** Tokens kept by top-p, from the output of top-k (likeliest first). */
export const withinTopP = (logits: Float32Array, tokens: Int32Array, topP: number): Int32Array =>
  topP === 1 ? tokens : nucleus(logits, tokens, weightOf(logits, tokens), topP);

function possibleTokens(logits: Float32Array): Int32Array {
  argmax(logits); // refuses NaN, +Infinity, and logits without a finite one
  return tokensFrom(logits, -Number.MAX_VALUE);
}

/**
 * The shortest prefix of `tokens` (likeliest first) with weight ≥ `topP` · `total`; at least one token (Holtzman et al.
 * 2020).
 */
function nucleus(logits: Float32Array, tokens: Int32Array, total: number, topP: number): Int32Array {
  const highest = logits[tokens[0]!]!;
  let sum = 0;
  for (let i = 0; i < tokens.length; i++) {
    sum += Math.exp(logits[tokens[i]!]! - highest);
    if (sum >= topP * total) return tokens.subarray(0, i + 1);
  }
  return tokens;
}

/** Sum of exp(logit - highest logit) over `tokens`, likeliest first. */
function weightOf(logits: Float32Array, tokens: Int32Array): number {
  const highest = logits[tokens[0]!]!;
  let total = 0;
  for (let i = 0; i < tokens.length; i++) total += Math.exp(logits[tokens[i]!]! - highest);
  return total;
}

const BINS = 2048;
const BINS_PER_NAT = 64; // the last bin is 32 nats below the highest logit: 1e-14 of its probability

/**
 * The nucleus of the whole vocabulary. A histogram of the weights gives a lower bound for its logits; only tokens above
 * are sorted.
 */
function fullNucleus(logits: Float32Array, topP: number): Int32Array {
  const highest = logits[argmax(logits)]!;
  const bins = new Float64Array(BINS);
  let total = 0;
  for (let token = 0; token < logits.length; token++) {
    const below = highest - logits[token]!;
    const weight = Math.exp(-below);
    total += weight;
    bins[Math.min(BINS - 1, Math.floor(below * BINS_PER_NAT))]! += weight;
  }
  let last = 0;
  for (let sum = bins[0]!; sum < topP * total && last < BINS - 1; ) sum += bins[++last]!;
  const lowest = last === BINS - 1 ? -Number.MAX_VALUE : highest - (last + 1) / BINS_PER_NAT;
  const likely = tokensFrom(logits, lowest);
  return nucleus(
    logits,
    likely.sort((a, b) => byLikelihood(logits, a, b)),
    total,
    topP,
  );
}

/** The ids of tokens with logit ≥ `lowest`, ascending. */
function tokensFrom(logits: Float32Array, lowest: number): Int32Array {
  const tokens = new Int32Array(logits.length);
  let count = 0;
  for (let token = 0; token < logits.length; token++) if (logits[token]! >= lowest) tokens[count++] = token;
  return tokens.subarray(0, count);
}

/** ln minP as f32, as devices compute: a kept logit is at least the highest + ln minP. */
export const logMinP = (minP: number): number => Math.fround(Math.log(minP));

/** The tokens at least `minP` times as likely as the likeliest, in any order (Nguyen et al. 2024). */
export function minPFilter(logits: Float32Array, tokens: Int32Array, minP: number): Int32Array {
  if (minP === 0) return tokens;
  const threshold = highestLogit(logits, tokens) + logMinP(minP);
  return tokens.filter((token) => logits[token]! >= threshold);
}

/** The logit of the likeliest of `tokens`. */
export function highestLogit(logits: Float32Array, tokens: Int32Array): number {
  let highest = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < tokens.length; i++) if (logits[tokens[i]!]! > highest) highest = logits[tokens[i]!]!;
  return highest;
}
