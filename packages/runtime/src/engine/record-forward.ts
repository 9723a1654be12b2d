import {
  type AttentionBatch,
  type BatchArrays,
  inputBatch,
  type KvCache,
  type Step,
  type Tensor,
} from '@quern/core';
import type { LanguageModel } from '@quern/models';
import type { Head } from './token-choice.js';

/** A forward pass recorded in a step: its inputs and what it leaves. */
export interface RecordedForward {
  readonly ids: Tensor;
  readonly batch: AttentionBatch;
  readonly output: Tensor;
}

/** Records `ids` [T] whose rows `arrays` describes, up to the logits of `arrays.lastRows` or the likeliest token of each. */
export function recordForward(
  step: Step,
  model: LanguageModel,
  cache: KvCache,
  ids: Int32Array,
  arrays: BatchArrays,
  head: Head,
): RecordedForward {
  const tokens = step.input(ids);
  const batch = inputBatch(step, arrays);
  const logits = model.forward(tokens, batch, cache); // [S, V]
  const output = head === 'argmax' ? model.backend.argmax(logits) : logits;
  return { ids: tokens, batch, output };
}
