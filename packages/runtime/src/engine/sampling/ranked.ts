import { logMinP, withinTopP } from './filter.js';
import type { ResolvedOptions } from './options.js';
import { byLikelihood } from './select.js';

/** The likeliest tokens in order. Every token not listed is less likely than the last one listed. */
export interface Ranked {
  /** Likeliest first; of equal logits the lowest id first; only finite logits. */
  readonly tokens: Int32Array;
  /** Whether all tokens above -Infinity are listed. */
  readonly complete: boolean;
}

/**
 * The order of adjusted logits, as far as it follows from `best`, the order before the adjustment. Adjusted tokens move
 * to their new places; every token not listed is below the last of `best`.
 *
 * @param originals token → its logit before the adjustment
 */
export function rank(logits: Float32Array, best: Int32Array, originals: ReadonlyMap<number, number>): Ranked {
  const last = best[best.length - 1]!;
  const below =
    best.length < logits.length ? (originals.get(last) ?? logits[last]!) : Number.NEGATIVE_INFINITY;
  const complete = !(below > Number.NEGATIVE_INFINITY);
  if (originals.size === 0 && !complete) return known(logits, best, false);
  const isPossible = (token: number) => logits[token]! > Number.NEGATIVE_INFINITY;
  const others = best.filter((token) => isPossible(token) && !originals.has(token));
  const moved = Int32Array.from(originals.keys()).filter(isPossible);
  const merged = merge(
    logits,
    moved.sort((a, b) => byLikelihood(logits, a, b)),
    others,
  );
  return known(logits, complete ? merged : merged.subarray(0, countAbove(logits, merged, below)), complete);
}

/** Empty for a logit of +Infinity: the path over all logits reports the error. */
const known = (logits: Float32Array, tokens: Int32Array, complete: boolean): Ranked =>
  logits[tokens[0]!]! < Number.POSITIVE_INFINITY
    ? { tokens, complete }
    : { tokens: tokens.subarray(0, 0), complete: false };

/**
 * Tokens kept by `candidates` and then min-p, in their order of output. Undefined where the ranked tokens are too few
 * to decide.
 */
export function rankedCandidates(
  logits: Float32Array,
  { tokens, complete }: Ranked,
  { topK, topP, minP }: Pick<ResolvedOptions, 'topK' | 'topP' | 'minP'>,
): Int32Array | undefined {
  if (tokens.length === 0) return undefined;
  const threshold = logits[tokens[0]!]! + logMinP(minP);
  if (topK > 0) {
    if (!complete && tokens.length < topK) return undefined;
    const kept = withinTopP(logits, tokens.subarray(0, topK), topP);
    return kept.subarray(0, countFrom(logits, kept, threshold));
  }
  if (topP < 1 || minP === 0) return undefined; // top-p without top-k and minP = 0 need every token
  const count = countFrom(logits, tokens, threshold);
  return complete || count < tokens.length ? tokens.slice(0, count).sort() : undefined;
}

/** Number of leading tokens with logit ≥ `threshold`. `tokens` is ordered. */
function countFrom(logits: Float32Array, tokens: Int32Array, threshold: number): number {
  let count = 0;
  while (count < tokens.length && logits[tokens[count]!]! >= threshold) count++;
  return count;
}

/** Number of leading tokens with logit > `floor`. `tokens` is ordered. */
function countAbove(logits: Float32Array, tokens: Int32Array, floor: number): number {
  let count = 0;
  while (count < tokens.length && logits[tokens[count]!]! > floor) count++;
  return count;
}

/** Merges two ordered lists. */
function merge(logits: Float32Array, a: Int32Array, b: Int32Array): Int32Array {
  const merged = new Int32Array(a.length + b.length);
  let i = 0;
  for (let at = 0; at < merged.length; at++) {
    const j = at - i;
    const fromA = j === b.length || (i < a.length && byLikelihood(logits, a[i]!, b[j]!) < 0);
    merged[at] = fromA ? a[i++]! : b[j]!;
  }
  return merged;
}
