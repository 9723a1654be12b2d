import type { SpecialIds } from './vocabulary.js';

/** The logarithms of the probabilities of the tokens that may come next. */
export interface NextTokens {
  /** Logits [V]; −∞ where a token may not come. */
  readonly logits: Float32Array;
  /** log Σ exp(logits): a token's log probability is its logit less this. */
  readonly normaliser: number;
}

export interface RuleOptions {
  readonly ids: SpecialIds;
  /** Never written. */
  readonly suppressed: readonly number[];
  /** Not written first: a space, and the end. */
  readonly notFirst: readonly number[];
  /** The latest time, in timestamps, at which the first segment may begin. */
  readonly latestFirst: number;
  /** The latest of all: where the sound of the window ends. */
  readonly latest: number;
}

const never = Number.NEGATIVE_INFINITY;

/**
 * Which tokens may follow (Radford et al. 2022, §4.5, as their code has it): timestamps come in pairs, never fall, begin
 * the text, and are written whenever together they are likelier than any one token of text.
 * @param logits [V], changed in place
 * @param written the tokens of this window so far
 */
export function applyRules(logits: Float32Array, written: readonly number[], rules: RuleOptions): NextTokens {
  const { ids, suppressed, notFirst, latestFirst, latest } = rules;
  const { endOfText, firstTimestamp } = ids;
  for (const id of suppressed) logits[id] = never;
  logits.fill(never, endOfText + 1, firstTimestamp); // special tokens
  logits.fill(never, firstTimestamp + latest + 1);
  if (written.length === 0) {
    for (const id of notFirst) logits[id] = never;
    logits.fill(never, 0, firstTimestamp);
    logits.fill(never, firstTimestamp + latestFirst + 1);
  } else restrictTimestamps(logits, written, ids);
  return preferTimestamps(logits, firstTimestamp);
}

function restrictTimestamps(
  logits: Float32Array,
  written: readonly number[],
  { endOfText, firstTimestamp }: SpecialIds,
): void {
  const isTimestamp = (id: number | undefined) => id !== undefined && id >= firstTimestamp;
  const lastIs = isTimestamp(written.at(-1));
  const isAlone = lastIs && written.length > 1 && !isTimestamp(written.at(-2)); // the end of a segment
  if (lastIs && !isAlone) logits.fill(never, firstTimestamp);
  if (isAlone) logits.fill(never, 0, endOfText);
  const latest = written.findLast(isTimestamp);
  if (latest !== undefined) logits.fill(never, firstTimestamp, isAlone ? latest : latest + 1); // segments have a length
}

/** Takes the text away where timestamps together are likelier than its likeliest token, and normalises what is left. */
function preferTimestamps(logits: Float32Array, firstTimestamp: number): NextTokens {
  const text = statistics(logits, 0, firstTimestamp);
  const times = statistics(logits, firstTimestamp, logits.length);
  if (times.logSum > text.largest) {
    logits.fill(never, 0, firstTimestamp);
    return { logits, normaliser: times.logSum };
  }
  return { logits, normaliser: logAdd(text.logSum, times.logSum) };
}

/** e to this times a whole vocabulary is nothing beside 1; most logits are below it, and need no exponential. */
const negligible = -30;

/** The largest of some logits, and log Σ exp of them. */
function statistics(logits: Float32Array, from: number, to: number): { largest: number; logSum: number } {
  let largest = never;
  for (let i = from; i < to; i++) if (logits[i]! > largest) largest = logits[i]!;
  if (largest === never) return { largest, logSum: never };
  let sum = 0;
  for (let i = from; i < to; i++) {
    const below = logits[i]! - largest;
    if (below > negligible) sum += Math.exp(below);
  }
  return { largest, logSum: largest + Math.log(sum) };
}

function logAdd(a: number, b: number): number {
  const larger = Math.max(a, b);
  return larger === never ? never : larger + Math.log(Math.exp(a - larger) + Math.exp(b - larger));
}

/** The probability of one token among all, without rules. */
export function probabilityOf(logits: Float32Array, id: number): number {
  return Math.exp(logits[id]! - statistics(logits, 0, logits.length).logSum);
}

/** The likeliest of some tokens, and the share of it among them. */
export function likeliestOf(
  logits: Float32Array,
  among: readonly number[],
): { id: number; probability: number } {
  const chosen = Float32Array.from(among, (id) => logits[id]!);
  const { largest, logSum } = statistics(chosen, 0, chosen.length);
  return { id: among[chosen.indexOf(largest)]!, probability: Math.exp(largest - logSum) };
}

/** Index of the largest logit; ties go to the lowest. */
export function argmax(logits: Float32Array): number {
  let best = 0;
  for (let i = 1; i < logits.length; i++) if (logits[i]! > logits[best]!) best = i;
  return best;
}
