import type { Backend, InputOf, RepeatedStep, Tensor } from '@quern/core';
import type { ForwardArrays } from './forward-arrays.js';
import { recordSample, type SampleArrays } from './sampled-head.js';

/**
 * What a step leaves of each row whose logits it computes.
 * - 'none': nothing
 * - 'argmax': the likeliest token
 * - 'sampled': the token that the device draws, or the likeliest for a row that draws none
 * - 'logits': all logits
 * - 'ranked': all logits, and the likeliest tokens in order: enough for any choice, so rows of all kinds go in one step
 */
export type Head = 'none' | 'argmax' | 'sampled' | 'logits' | 'ranked';

/** Most tokens that 'ranked' puts in order. */
export const mostRanked = 128;

/** What a step leaves of a row, on the host: valid until the step runs again. */
export interface RowOutput {
  /**
   * Token ids, likeliest first, of equals the lowest first; NaN counts as -Infinity. One for 'argmax' and 'sampled' (-1 where
   * a row to be drawn from has no token), `mostRanked` at most for 'ranked', none for 'logits'.
   */
  readonly best: Int32Array;
  /** [V], for 'logits' and 'ranked'. */
  readonly logits: Float32Array | undefined;
}

/** The same of all R rows as tensors: best [R] or [R, W], logits [R, V]. */
export type RecordedHead = { readonly best?: Tensor; readonly logits?: Tensor };

/** Records what `head` leaves of logits [R, V]. */
export function recordHead(
  backend: Backend,
  logits: Tensor,
  head: Head,
  input: InputOf<SampleArrays>,
): RecordedHead {
  switch (head) {
    case 'none':
      return {};
    case 'argmax':
      return { best: backend.argmax(logits) };
    case 'sampled':
      return { best: recordSample(backend, logits, input) };
    case 'logits':
      return { logits };
    case 'ranked':
      return { best: backend.topK(logits, Math.min(mostRanked, logits.shape[1]!)).indices, logits };
  }
}

const noTokens = new Int32Array(0);

/** The rows that a step with this head has left. */
export function readRows(step: RepeatedStep<ForwardArrays>, head: Head): readonly RowOutput[] {
  if (head === 'none') return [];
  const R = step.arrays.lastRows.length;
  const best = head === 'logits' ? noTokens : (step.read('best') as Int32Array); // [R, W]
  const logits = head === 'logits' || head === 'ranked' ? (step.read('logits') as Float32Array) : undefined; // [R, V]
  return Array.from({ length: R }, (_, row) => ({
    best: rowOf(best, row, R),
    logits: logits && rowOf(logits, row, R),
  }));
}

function rowOf<Values extends Int32Array | Float32Array>(values: Values, row: number, rows: number): Values {
  const width = values.length / rows;
  return values.subarray(row * width, (row + 1) * width) as Values;
}
