import { contiguousKvCache, inputBatch, type KvCache, type KvSequence } from '@quern/core';
import type { LanguageModel } from '../src/index.js';

/** A sequence and its tokens of one step. */
export interface Rows {
  readonly sequence: KvSequence;
  readonly ids: readonly number[];
}

/** Runs one step; returns the logits of every row, [T][V], or of each sequence's last row, [S][V]. */
export async function runStep(
  model: LanguageModel,
  cache: KvCache,
  rows: readonly Rows[],
  which: 'every' | 'last' = 'every',
): Promise<number[][]> {
  for (const { sequence, ids } of rows) sequence.append(ids.length);
  using step = model.backend.step();
  const ids = step.input(Int32Array.from(rows.flatMap((row) => row.ids)));
  const arrays = cache.describe(rows.map((row) => ({ sequence: row.sequence, rows: row.ids.length })));
  const batch = inputBatch(step, arrays);
  const logits = which === 'every' ? model.forwardAll(ids, batch, cache) : model.forward(ids, batch, cache);
  const values = Array.from(await step.read(logits));
  const V = model.config.vocabulary;
  return Array.from({ length: values.length / V }, (_, t) => values.slice(t * V, (t + 1) * V));
}

/** A contiguous f32 cache. */
export const cacheFor = ({ backend, config }: LanguageModel, context: number, sequences = 1): KvCache =>
  contiguousKvCache(backend, { ...kvOptions(config, context), sequences });

export const kvOptions = (
  { layers, kvHeads, headDim, layerStates }: LanguageModel['config'],
  context: number,
) => ({
  layers,
  kvHeads,
  headDim,
  layerStates,
  context,
  dtype: 'f32' as const,
});

/** The logits of every position of a sequence, fed in chunks. */
export async function sequenceLogits(
  model: LanguageModel,
  ids: readonly number[],
  chunk = ids.length,
  cache = cacheFor(model, ids.length),
): Promise<number[][]> {
  using owned = cache;
  const sequence = owned.sequence();
  const logits: number[][] = [];
  for (let at = 0; at < ids.length; at += chunk)
    logits.push(...(await runStep(model, owned, [{ sequence, ids: ids.slice(at, at + chunk) }])));
  return logits;
}

/** The largest difference between two tables of logits; NaN if a logit is NaN, Infinity for different sizes. */
export function distance(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): number {
  if (a.length !== b.length || a.some((row, i) => row.length !== b[i]!.length))
    return Number.POSITIVE_INFINITY;
  return Math.max(...a.flatMap((row, i) => row.map((value, j) => Math.abs(value - b[i]![j]!))));
}
