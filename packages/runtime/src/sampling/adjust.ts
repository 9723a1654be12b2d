import type { ResolvedOptions } from './options.js';

/** Adds the bias of each token to its logit, in place; ids beyond the logits are passed over. */
export function addLogitBias(logits: Float32Array, bias: ReadonlyMap<number, number>): void {
  for (const [token, value] of bias) if (token < logits.length) logits[token]! += value;
}

/**
 * Lowers the logits of recent tokens, in place. `counts`: [token, occurrences].
 *
 * Repetition: Keskar et al. 2019 (CTRL), with negative logits multiplied so that they fall too. Presence and frequency:
 * OpenAI's definition, logit - occurrences * frequency - presence.
 */
export function penalize(
  logits: Float32Array,
  counts: Iterable<readonly [number, number]>,
  options: Pick<ResolvedOptions, 'repetitionPenalty' | 'presencePenalty' | 'frequencyPenalty'>,
): void {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  for (const [token, count] of counts) {
    if (token >= logits.length) continue;
    const logit = logits[token]!;
    const repeated = logit <= 0 ? logit * repetitionPenalty : logit / repetitionPenalty;
    logits[token] = repeated - count * frequencyPenalty - presencePenalty;
  }
}
