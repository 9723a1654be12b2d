import { brokenNumber } from '../broken-numbers.js';
import { SamplingError } from './error.js';

/** The likeliest token; of equals, the lowest id. @throws SamplingError BAD_LOGITS */
export function argmax(logits: Float32Array): number {
  let best = -1;
  let highest = Number.NEGATIVE_INFINITY;
  for (let token = 0; token < logits.length; token++) {
    const logit = logits[token]!;
    if (logit <= highest) continue; // never true of NaN
    checkLogit(token, logit);
    best = token;
    highest = logit;
  }
  if (best < 0) throw noToken(logits);
  return best;
}

/**
 * The `count` likeliest tokens, likeliest first, of equals the lowest id first; tokens at -Infinity are left out. One
 * pass over the logits with a heap of `count` entries whose root is the least likely of them.
 *
 * @throws SamplingError BAD_LOGITS
 */
export function topTokens(logits: Float32Array, count: number): Int32Array {
  const heap = new Int32Array(Math.min(count, logits.length));
  let size = 0;
  let threshold = Number.NEGATIVE_INFINITY; // a token must beat the root, and a later equal never does
  for (let token = 0; token < logits.length; token++) {
    if (logits[token]! <= threshold) continue; // never true of NaN
    checkLogit(token, logits[token]!);
    if (size < heap.length) siftUp(logits, heap, size++, token);
    else siftDown(logits, heap, size, token);
    if (size === heap.length) threshold = logits[heap[0]!]!;
  }
  if (size === 0) throw noToken(logits);
  return heap.subarray(0, size).sort((a, b) => logits[b]! - logits[a]! || a - b);
}

/** Whether a goes before b in the heap: less likely, or as likely with a higher id. */
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

/** Checks the logit of the likeliest token: a finite number. @throws SamplingError BAD_LOGITS */
export function needPossible(logits: Float32Array, token: number): void {
  if (!(logits[token]! > Number.NEGATIVE_INFINITY)) throw noToken(logits);
  checkLogit(token, logits[token]!);
}

function checkLogit(token: number, logit: number): void {
  if (logit < Number.POSITIVE_INFINITY) return;
  throw new SamplingError('BAD_LOGITS', brokenNumber(`the logit of token ${token}`, logit));
}

function noToken(logits: Float32Array): SamplingError {
  const broken = logits.findIndex(Number.isNaN);
  return new SamplingError(
    'BAD_LOGITS',
    broken >= 0
      ? brokenNumber(`the logit of token ${broken}`, Number.NaN)
      : `none of the ${logits.length} logits is above -Infinity: the model or the logit bias forbids every token`,
  );
}
