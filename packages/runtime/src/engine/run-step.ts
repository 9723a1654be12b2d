import type { BatchArrays, KvCache } from '@quern/core';
import type { LanguageModel } from '@quern/models';
import { nextTurn } from './next-turn.js';
import { recordForward } from './record-forward.js';
import { type RecordedHead, type RowOutput, recordOutput, rowsOf } from './step-output.js';

/** Records a step up to what `head` leaves, and runs it. */
export async function runStep(
  model: LanguageModel,
  cache: KvCache,
  ids: Int32Array,
  arrays: BatchArrays,
  head: RecordedHead,
  signal: AbortSignal | undefined,
): Promise<readonly RowOutput[]> {
  const step = model.backend.step();
  const { logits } = recordForward(step, model, cache, ids, arrays);
  const output = recordOutput(model.backend, step, logits, head);
  await nextTurn();
  await step.run(signal ? { signal } : {});
  return rowsOf(output, await step.read(output.best), output.logits && (await step.read(output.logits)));
}
