import type { Backend, HostArray, Step, Tensor } from '@quern/core';

/**
 * What a step leaves of each of its R rows: the likeliest token, or all logits and the likeliest of them in order. The
 * second has what a choice by the first needs, so rows of both kinds go in one step.
 */
export type Head = 'argmax' | 'ranked';

/** Most tokens that 'ranked' puts in order. */
export const mostRanked = 128;

/** A step's output on the host: valid until the step runs again. */
export interface StepOutput {
  /** [R, W] token ids, likeliest first, of equals the lowest first; NaN counts as -Infinity. */
  readonly best: Int32Array;
  /** W: 1 for 'argmax'; for 'ranked' `mostRanked`, or the whole vocabulary where that is smaller. */
  readonly width: number;
  /** [R, V], where the head is 'ranked'. */
  readonly logits: Float32Array | undefined;
}

/** The same as tensors. */
export interface RecordedOutput {
  readonly best: Tensor;
  readonly logits: Tensor | undefined;
}

/** Records what `head` leaves of logits [R, V]. */
export function recordOutput(backend: Backend, step: Step, logits: Tensor, head: Head): RecordedOutput {
  const [R, V] = logits.shape as [number, number];
  if (head === 'argmax') return { best: backend.view(backend.argmax(logits), [R, 1]), logits: undefined };
  step.keep(logits);
  return { best: backend.topK(logits, Math.min(mostRanked, V)).indices, logits };
}

/** The output of which `best` and `logits` are the values. */
export const outputOf = (
  recorded: RecordedOutput,
  best: HostArray,
  logits: HostArray | undefined,
): StepOutput => ({
  best: best as Int32Array,
  width: recorded.best.shape[1]!,
  logits: logits as Float32Array | undefined,
});
