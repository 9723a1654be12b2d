import type { Backend, HostArray, Step, Tensor } from '@quern/core';
import { SampledHead } from './sampled-head.js';

/**
 * What a step leaves of each of its R rows: the likeliest token, or all logits and the likeliest of them in order. The
 * second has what a choice by the first needs, so rows of both kinds go in one step.
 */
export type RecordedHead = 'argmax' | 'ranked';

/** The same of a captured step, which may also draw the tokens itself: those of greedy rows too. */
export type Head = RecordedHead | 'sampled';

/** Most tokens that 'ranked' puts in order. */
export const mostRanked = 128;

/** What a step leaves of a row, on the host: valid until the step runs again. */
export interface RowOutput {
  /** Token ids, likeliest first, of equals the lowest first; NaN counts as -Infinity. One for 'argmax' and 'sampled', `mostRanked` at most for 'ranked'; 'sampled' gives -1 for a row that has none. */
  readonly best: Int32Array;
  /** [V], where the head is 'ranked'. */
  readonly logits: Float32Array | undefined;
}

/** The same of all rows as tensors: best [R, W], logits [R, V]. */
export interface RecordedOutput {
  readonly best: Tensor;
  readonly logits: Tensor | undefined;
  /** Where the head is 'sampled': to be written before each replay. */
  readonly sampled?: SampledHead;
}

/** Records what `head` leaves of logits [R, V]. */
export function recordOutput(backend: Backend, step: Step, logits: Tensor, head: Head): RecordedOutput {
  const [R, V] = logits.shape as [number, number];
  if (head === 'argmax') return { best: backend.view(backend.argmax(logits), [R, 1]), logits: undefined };
  if (head === 'sampled') {
    const sampled = new SampledHead(backend, step, logits, 1);
    return { best: backend.view(sampled.tokens, [R, 1]), logits: undefined, sampled };
  }
  step.keep(logits);
  return { best: backend.topK(logits, Math.min(mostRanked, V)).indices, logits };
}

/** Rows of the output that has these values. */
export function rowsOf(
  recorded: RecordedOutput,
  best: HostArray,
  logits: HostArray | undefined,
): readonly RowOutput[] {
  const [R, W] = recorded.best.shape as [number, number];
  const V = logits ? logits.length / R : 0;
  return Array.from({ length: R }, (_, row) => ({
    best: (best as Int32Array).subarray(row * W, (row + 1) * W),
    logits: (logits as Float32Array | undefined)?.subarray(row * V, (row + 1) * V),
  }));
}
