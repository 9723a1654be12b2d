import {
  type Backend,
  BackendError,
  contiguousKvCache,
  inputBatch,
  type KvCache,
  rehearse,
  type StepMemory,
} from '@quern/core';
import { type LanguageModel, loadLanguageModel, type ModelFile } from '@quern/models';
import { batchRows } from '../engine/batch.js';

/** Bytes of a model's largest steps on a device, besides weights and cache. */
export interface StepBytes {
  /** A step of `prefillChunk` rows of one sequence, with the logits of its last row. */
  readonly prefill: number;
  /** A step of one row per decoding sequence (≤ 64), with the logits of all rows. */
  readonly decode: number;
}

export interface StepSizes {
  readonly prefillChunk: number;
  readonly sequences: number;
}

const sum = ({ arenaBytes, inputsBytes, outputsBytes }: StepMemory) =>
  arenaBytes + inputsBytes + outputsBytes;

/** Bytes of a forward pass: `rows` rows of each sequence. */
function stepBytes(model: LanguageModel, cache: KvCache, sequences: number, rows: number): number {
  const entries = Array.from({ length: sequences }, () => {
    const sequence = cache.sequence();
    sequence.append(rows);
    return { sequence, rows };
  });
  using step = model.backend.step();
  const batch = inputBatch(step, cache.describe(entries));
  model.forward(step.input(new Int32Array(sequences * rows)), batch, cache);
  for (const { sequence } of entries) sequence.release();
  return sum(step.memory());
}

/**
 * Records a model's largest steps as the backend would run them, and returns their bytes. Reads no weights, runs
 * nothing. Undefined where recording is impossible: another copy of core made the backend, or the backend lacks an op.
 */
export async function rehearseSteps(
  backend: Backend,
  file: ModelFile,
  sizes: StepSizes,
): Promise<StepBytes | undefined> {
  try {
    using rehearsal = rehearse(backend);
    return await recordSteps(rehearsal, file, sizes);
  } catch (error) {
    if (error instanceof BackendError && unrecordable.includes(error.code)) return undefined;
    throw error;
  }
}

const unrecordable: readonly string[] = ['WRONG_CONTRACT', 'UNSUPPORTED'];

async function recordSteps(
  rehearsal: Backend,
  file: ModelFile,
  { prefillChunk, sequences }: StepSizes,
): Promise<StepBytes> {
  const model = await loadLanguageModel(file, rehearsal);
  const { layers, kvHeads, headDim, layerStates } = file.config;
  const rows = Math.min(sequences, batchRows(prefillChunk));
  const cache = contiguousKvCache(rehearsal, {
    ...{ layers, kvHeads, headDim, layerStates, dtype: 'f16', context: prefillChunk, sequences: rows },
  });
  return { prefill: stepBytes(model, cache, 1, prefillChunk), decode: stepBytes(model, cache, rows, 1) };
}
