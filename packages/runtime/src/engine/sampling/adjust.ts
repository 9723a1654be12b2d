import type { SamplingParams } from './params.js';
import type { RecentTokens } from './recent-tokens.js';

/** Logits before a change, by token. */
export type Originals = ReadonlyMap<number, number>;

const unchanged: Originals = new Map();

/** Applies the bias, then the penalties for `recent`, in place. Returns what `restore` needs. */
export function adjust(
  logits: Float32Array,
  params: SamplingParams,
  recent: RecentTokens | undefined,
): Originals {
  const { logitBias } = params;
  if (logitBias.size === 0 && !recent) return unchanged;
  const originals = new Map<number, number>();
  for (const [token, value] of logitBias) {
    if (token >= logits.length) continue;
    originals.set(token, logits[token]!);
    logits[token]! += value;
  }
  if (recent)
    for (const [token, count] of recent.entries()) {
      if (token >= logits.length) continue;
      if (!originals.has(token)) originals.set(token, logits[token]!);
      logits[token] = penalised(logits[token]!, count, params);
    }
  return originals;
}

export function restore(logits: Float32Array, originals: Originals): void {
  for (const [token, logit] of originals) logits[token] = logit;
}

/**
 * The logit of a token that occurs `count` times.
 *
 * Repetition: Keskar et al. 2019 (CTRL); negative logits are multiplied, so that they fall too. Presence and frequency:
 * OpenAI's definition, logit − occurrences · frequency − presence.
 */
function penalised(logit: number, count: number, params: SamplingParams): number {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = params;
  const repeated = logit <= 0 ? logit * repetitionPenalty : logit / repetitionPenalty;
  return repeated - count * frequencyPenalty - presencePenalty;
}
