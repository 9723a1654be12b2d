import { brokenNumber } from '../../broken-numbers.js';
import { SamplingError } from './options.js';

/** The likeliest token; of equal logits the lowest id. @throws SamplingError BAD_LOGITS */
export function argmax(logits: Float32Array): number {
  let best = -1;
  let highest = Number.NEGATIVE_INFINITY;
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token]!;
    if (logit <= highest) continue; // false for NaN
    checkLogit(token, logit);
    best = token;
    highest = logit;
  }
  if (best < 0) throw withoutToken(logits);
  return best;
}

/**
 * The `count` likeliest tokens, likeliest first; of equal logits the lowest id first. Tokens at -Infinity are left out.
 * One pass over the logits with a heap of `count` entries; the root is the least likely entry.
 * @throws SamplingError BAD_LOGITS
 */
export function topTokens(logits: Float32Array, count: number): Int32Array {
  const heap = new Int32Array(Math.min(count, logits.length));
  let size = 0;
  let threshold = Number.NEGATIVE_INFINITY; // a token must exceed the root: an equal later token never enters
  for (let token = 0; token < logits.length; token++) {
    if (logits[token]! <= threshold) continue; // false for NaN
    checkLogit(token, logits[token]!);
    if (size < heap.length) siftUp(logits, heap, size++, token);
    else siftDown(logits, heap, size, token);
    if (size === heap.length) threshold = logits[heap[0]!]!;
  }
  if (size === 0) throw withoutToken(logits);
  return heap.subarray(0, size).sort((a, b) => byLikelihood(logits, a, b));
}

/** Likelier tokens first; of equal logits the lowest id. */
export const byLikelihood = (logits: Float32Array, a: number, b: number): number =>
  logits[b]! - logits[a]! || a - b;

/** Heap order: a is less likely than b, or equally likely with a higher id. */
const isWorse = (logits: Float32Array, a: number, b: number) =>
  logits[a]! !== logits[b]! ? logits[a]! < logits[b]! : a > b;

function siftUp(logits: Float32Array, heap: Int32Array, start: number, token: number): void {
  let at = start;
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isWorse(logits, token, heap[parent]!)) break;
    heap[at] = heap[parent]!;
    at = parent;
  }
  heap[at] = token;
}

/** Replaces the root by `token`. */
function siftDown(logits: Float32Array, heap: Int32Array, size: number, token: number): void {
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= size) break;
    if (child + 1 < size && isWorse(logits, heap[child + 1]!, heap[child]!)) child++;
    if (!isWorse(logits, heap[child]!, token)) break;
    heap[at] = heap[child]!;
    at = child;
  }
  heap[at] = token;
}

function checkLogit(token: number, logit: number): void {
  if (logit < Number.POSITIVE_INFINITY) return;
  throw new SamplingError('BAD_LOGITS', brokenNumber(`the logit of token ${token}`, logit));
}

function withoutToken(logits: Float32Array): SamplingError {
  const broken = logits.findIndex(Number.isNaN);
  return new SamplingError(
    'BAD_LOGITS',
    broken >= 0
      ? brokenNumber(`the logit of token ${broken}`, Number.NaN)
      : `none of the ${logits.length} logits is above -Infinity: the model or the logit bias forbids every token`,
  );
}

/** A copy of the logits, with -Infinity for the tokens that `mask` [V / 32] does not allow. */
export const masked = (logits: Float32Array, mask: Int32Array): Float32Array =>
  logits.map((logit, token) =>
    (mask[token >>> 5]! >>> (token & 31)) & 1 ? logit : Number.NEGATIVE_INFINITY,
  );
