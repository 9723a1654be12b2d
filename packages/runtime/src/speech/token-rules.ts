import type { SpecialIds } from './vocabulary.js';

/** The allowed next tokens. */
export interface NextTokens {
  /** Probabilities [V] before the rules; −1 for a forbidden token. */
  readonly weights: Float32Array;
  /** Σ weights of the allowed tokens. */
  readonly total: number;
}

/** ln(probability of a token among the allowed tokens). */
export const logProbability = ({ weights, total }: NextTokens, id: number): number =>
  Math.log(Math.max(weights[id]!, least)) - Math.log(Math.max(total, least));

/** The smallest normal f32: a lower bound for probabilities. */
const least = 2 ** -126;

export interface RuleOptions {
  readonly ids: SpecialIds;
  /** Never allowed. */
  readonly suppressed: readonly number[];
  /** Not allowed as the first token: a space, and the end. */
  readonly notFirst: readonly number[];
  /** Latest start of the first segment, in timestamps. */
  readonly latestFirst: number;
  /** Latest timestamp: the end of the sound in the window. */
  readonly latest: number;
}

const never = -1;

/**
 * Which tokens may follow (Radford et al. 2022, §4.5, as in their code): timestamps come in pairs, never decrease, and
 * start the text; they are required where their total probability exceeds the probability of every text token.
 * @param weights probabilities [V], changed in place
 * @param written the tokens of this window so far
 */
export function applyRules(
  weights: Float32Array,
  written: readonly number[],
  rules: RuleOptions,
): NextTokens {
  const { ids, suppressed, notFirst, latestFirst, latest } = rules;
  const { endOfText, firstTimestamp } = ids;
  for (const id of suppressed) weights[id] = never;
  weights.fill(never, endOfText + 1, firstTimestamp); // special tokens
  weights.fill(never, firstTimestamp + latest + 1);
  if (written.length === 0) {
    for (const id of notFirst) weights[id] = never;
    weights.fill(never, 0, firstTimestamp);
    weights.fill(never, firstTimestamp + latestFirst + 1);
  } else restrictTimestamps(weights, written, ids);
  return preferTimestamps(weights, firstTimestamp);
}

function restrictTimestamps(
  weights: Float32Array,
  written: readonly number[],
  { endOfText, firstTimestamp }: SpecialIds,
): void {
  const isTimestamp = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const lastIs = isTimestamp(written.at(-1));
  const isAlone = lastIs && written.length > 1 && !isTimestamp(written.at(-2)); // ends a segment
  if (lastIs && !isAlone) weights.fill(never, firstTimestamp);
  if (isAlone) weights.fill(never, 0, endOfText);
  const latest = written.findLast(isTimestamp);
  if (latest !== undefined) weights.fill(never, firstTimestamp, isAlone ? latest : latest + 1); // length > 0
}

/** Forbids text where the timestamps' total probability exceeds the likeliest text token's. */
function preferTimestamps(weights: Float32Array, firstTimestamp: number): NextTokens {
  const text = statistics(weights, 0, firstTimestamp);
  const times = statistics(weights, firstTimestamp, weights.length);
  if (times.sum <= text.largest) return { weights, total: text.sum + times.sum };
  weights.fill(never, 0, firstTimestamp);
  return { weights, total: times.sum };
}

/** The largest of some weights, and the sum of the allowed ones. */
function statistics(weights: Float32Array, from: number, to: number): { largest: number; sum: number } {
  let largest = never;
  let sum = 0;
  for (let i = from; i < to; i++) {
    const weight = weights[i]!;
    if (weight > largest) largest = weight;
    if (weight > 0) sum += weight;
  }
  return { largest, sum };
}

/** The likeliest of the given tokens. */
export function likeliestOf(probabilities: Float32Array, among: readonly number[]): number {
  return among.reduce((best, id) => (probabilities[id]! > probabilities[best]! ? id : best));
}

/** Index of the largest weight; of equal weights the lowest index. */
export function argmax(weights: Float32Array): number {
  let best = 0;
  for (let i = 1; i < weights.length; i++) if (weights[i]! > weights[best]!) best = i;
  return best;
}
