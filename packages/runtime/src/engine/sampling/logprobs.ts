/** A token and the natural logarithm of its probability. */
export interface TokenLogprob {
  readonly token: number;
  readonly logprob: number;
}

/**
 * The log-probability of a generated token, and the likeliest tokens at its place. They are those of the model:
 * softmax of its logits, before bias, penalties, temperature and masks.
 */
export interface TokenLogprobs extends TokenLogprob {
  readonly top: readonly TokenLogprob[];
}

/**
 * @param logits [vocabulary]
 * @param ranked the likeliest tokens in order
 * @param count most tokens of `top`
 */
export function logprobsOf(
  logits: Float32Array,
  ranked: Int32Array,
  token: number,
  count: number,
): TokenLogprobs {
  const normaliser = logSumExp(logits, logits[ranked[0]!]!);
  const of = (id: number): TokenLogprob => ({ token: id, logprob: logits[id]! - normaliser });
  return { ...of(token), top: Array.from(ranked.subarray(0, count), of) };
}

/** ln Σ exp(logit); `highest`: the highest logit. */
function logSumExp(logits: Float32Array, highest: number): number {
  let sum = 0;
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id]! - highest);
  return highest + Math.log(sum);
}
