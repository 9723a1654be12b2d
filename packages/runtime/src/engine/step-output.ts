import type { Backend, InputOf, RepeatedStep, Tensor } from '@quern/core';
import type { ForwardArrays } from './runner/forward-parts.js';
import { type Head, partsOf } from './heads.js';
import {
  type NotedTensors,
  recordAdjustments,
  recordNotes,
  recordSample,
  type SampleArrays,
} from './sampled-head.js';

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
  /** For heads that note log-probabilities. */
  readonly notes?: RowNotes | undefined;
}

/** Log-probabilities of a row, by the model's own logits. */
export interface RowNotes {
  /** Of the chosen token. */
  readonly chosen: number;
  /** The n ≤ `mostNoted` likeliest tokens, and theirs. */
  readonly tops: Int32Array;
  readonly topLogprobs: Float32Array;
}

/** The outputs of all R rows as tensors: best [R] or [R, W], logits [R, V]. */
export type RecordedHead = { readonly best?: Tensor; readonly logits?: Tensor } & Partial<NotedTensors>;

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
    default: {
      const parts = partsOf(head);
      const best = recordSample(backend, recordAdjustments(backend, logits, parts, input), input);
      return { best, ...(parts.notes && recordNotes(backend, logits, best)) };
    }
  }
}

const noTokens = new Int32Array(0);

/** The rows of a finished step with this head. */
export function readRows(step: RepeatedStep<ForwardArrays>, head: Head): readonly RowOutput[] {
  if (head === 'none') return [];
  const R = step.arrays.lastRows.length;
  const best = head === 'logits' ? noTokens : (step.read('best') as Int32Array); // [R, W]
  const logits = head === 'logits' || head === 'ranked' ? (step.read('logits') as Float32Array) : undefined; // [R, V]
  const notesOf = partsOf(head).notes ? readNotes(step, R) : undefined;
  return Array.from({ length: R }, (_, row) => ({
    best: rowOf(best, row, R),
    logits: logits && rowOf(logits, row, R),
    notes: notesOf?.(row),
  }));
}

function readNotes(step: RepeatedStep<ForwardArrays>, R: number): (row: number) => RowNotes {
  const [chosen, topLogprobs] = [
    step.read('chosen') as Float32Array,
    step.read('topLogprobs') as Float32Array,
  ];
  const tops = step.read('tops') as Int32Array;
  return (row) => ({
    chosen: chosen[row]!,
    tops: rowOf(tops, row, R),
    topLogprobs: rowOf(topLogprobs, row, R),
  });
}

function rowOf<Values extends Int32Array | Float32Array>(values: Values, row: number, rows: number): Values {
  const width = values.length / rows;
  return values.subarray(row * width, (row + 1) * width) as Values;
}
