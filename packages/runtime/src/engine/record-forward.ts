import {
  type AttentionBatch,
  type BatchArrays,
  inputBatch,
  type KvCache,
  type Step,
  type Tensor,
} from '@quern/core';
import type { LanguageModel } from '@quern/models';

/** A forward pass recorded in a step: its inputs and its logits. */
export interface RecordedForward {
  readonly ids: Tensor;
  readonly batch: AttentionBatch;
  /** [R, V] */
  readonly logits: Tensor;
}

/** What is wanted of every row of a step: the likeliest token, or its logits. */
export type RowsHead = 'argmax' | 'logits';

/** The token ids [R], or logits [R, V], that `head` leaves. */
export const rowsOutput = (model: LanguageModel, { logits }: RecordedForward, head: RowsHead): Tensor =>
  head === 'argmax' ? model.backend.argmax(logits) : logits;

/** Records `ids` [T] whose rows `arrays` describes, up to the logits of `arrays.lastRows` [R]. */
export function recordForward(
  step: Step,
  model: LanguageModel,
  cache: KvCache,
  ids: Int32Array,
  arrays: BatchArrays,
): RecordedForward {
  const tokens = step.input(ids);
  const batch = inputBatch(step, arrays);
  return { ids: tokens, batch, logits: model.forward(tokens, batch, cache) };
}
