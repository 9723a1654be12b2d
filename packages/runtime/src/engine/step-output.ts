import type { Backend, InputOf, RepeatedStep, Tensor } from '@quern/core';
import type { ForwardArrays } from './forward-arrays.js';
import { type Head, partsOf } from './heads.js';
import { recordAdjustments, recordSample, type SampleArrays } from './sampled-head.js';

/** Most tokens in the order of 'ranked'. */
export const mostRanked = 128;

/** Output of a step for one row, on the host. Valid until the step runs again. */
export interface RowOutput {
  /**
   * Token ids, likeliest first; of equal logits the lowest id first; NaN counts as -Infinity. Length: 1 for 'argmax',
   * heads that draw (-1 where the device could draw no token), ≤ `mostRanked` for 'ranked', 0 for 'logits'.
   */
  readonly best: Int32Array;
  /** [V], for 'logits' and 'ranked'. */
  readonly logits: Float32Array | undefined;
}

/** The outputs of all R rows as tensors: best [R] or [R, W], logits [R, V]. */
export type RecordedHead = { readonly best?: Tensor; readonly logits?: Tensor };

/** Records the output of `head` from logits [R, V]. */
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
    case 'logits':
      return { logits };
    case 'ranked':
      return { best: backend.topK(logits, Math.min(mostRanked, logits.shape[1]!)).indices, logits };
    default:
      return {
        best: recordSample(backend, recordAdjustments(backend, logits, partsOf(head), input), input),
      };
  }
}

const noTokens = new Int32Array(0);

/** The rows of a finished step with this head. */
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
