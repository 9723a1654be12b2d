import {
  type AttentionBatch,
  type Backend,
  inputBatch,
  type KvCache,
  type KvSequence,
  type Step,
  type Tensor,
  type Weight,
} from '@quern/core';
import { normal } from '@quern/core/testing';
import { loadOperand } from '../ops/bind.js';
import { cacheOptions, config } from './text-cache.js';

const [V, D] = [29, 32];
const shapes = {
  table: [V, D],
  norm: [D],
  q: [D, D],
  k: [16, D],
  v: [16, D],
  out: [D, D],
  head: [V, D],
} as const;

export type DecoderWeights = Readonly<Record<keyof typeof shapes, Weight>>;

/** One layer of a decoder with random weights. */
export async function loadDecoder(backend: Backend): Promise<DecoderWeights> {
  const weights: Record<string, Weight> = {};
  for (const [i, [name, shape]] of Object.entries(shapes).entries())
    weights[name] = await loadOperand(backend, name, normal(40 + i, shape, shape.length > 1 ? 0.2 : 1));
  return weights as DecoderWeights;
}

export const decoderCache = cacheOptions('f32', 32);

/** A recorded step of the decoder: its inputs and its results. */
export interface DecoderStep {
  readonly step: Step;
  readonly ids: Tensor;
  readonly batch: AttentionBatch;
  readonly logits: Tensor;
  readonly next: Tensor;
}

/** Records the next `ids` of a sequence; the sequence has room for them. */
export function recordDecoder(
  backend: Backend,
  w: DecoderWeights,
  cache: KvCache,
  sequence: KvSequence,
  tokens: readonly number[],
): DecoderStep {
  const step = backend.step();
  const batch = inputBatch(step, cache.describe([{ sequence, rows: tokens.length }]));
  const ids = step.input(Int32Array.from(tokens));
  const T = tokens.length;
  const x = backend.embed(w.table, ids); // [T, D]
  const h = backend.rmsNorm(x, w.norm, { eps: 1e-5 });
  const heads = (weight: Weight, count: number) =>
    backend.view(backend.linear(h, weight), [T, count, config.headDim]);
  const rotated = (y: Tensor) => backend.rope(y, batch.positions, { theta: 10000, layout: 'halves' });
  const q = rotated(heads(w.q, config.heads)); // [T, H, d]
  backend.kvAppend(
    cache.layer(0),
    rotated(heads(w.k, config.kvHeads)),
    heads(w.v, config.kvHeads),
    batch.slots,
  );
  const attended = backend.view(backend.attention(q, cache.layer(0), batch, config), [T, D]);
  const y = backend.add(x, backend.linear(attended, w.out));
  const logits = backend.linear(backend.gatherRows(y, batch.lastRows), w.head); // [1, V]
  step.keep(logits);
  return { step, ids, batch, logits, next: backend.argmax(logits) };
}
