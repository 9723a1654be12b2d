import type { AttentionBatch, AttnConfig, Backend, KvCache, KvLayer, Tensor } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ModelError } from '../error.js';
import type { EncoderBatch } from './encoder.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { windowedAttention } from './windowed-attention.js';

/** A decoder that reads whole texts, and the batch and the cache for its functions: the cache holds nothing. */
export interface WholeTexts {
  readonly backend: Backend;
  readonly cache: KvCache;
  batchOf(batch: EncoderBatch): AttentionBatch;
}

/** @throws ModelError UNSUPPORTED_CONFIG for attention with sinks, which needs a cache */
export function needNoSinks(has: boolean): void {
  if (has)
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      'this model embeds no texts: its attention has sinks, which the op uncachedAttention does not take',
    );
}

/**
 * The backend of a decoder that reads whole texts in one step: its attention looks at the keys and values that the step
 * appends, instead of a cache.
 */
export function wholeTexts(b: Backend, config: DecoderConfig & EncoderConfig): WholeTexts {
  const layers = Array.from({ length: config.layers }, () => ({}) as KvLayer);
  const appended = new Map<KvLayer, { readonly k: Tensor; readonly v: Tensor }>();
  let texts: EncoderBatch | undefined;

  const attention: Backend['attention'] = (q, layer, _batch, attn: AttnConfig, sinks) => {
    needNoSinks(sinks !== undefined);
    const { k, v } = appended.get(layer)!;
    if (config.causal) return b.uncachedAttention(q, k, v, texts!, attn);
    return windowedAttention(b, { q, k, v }, texts!, attn);
  };

  return {
    backend: {
      ...b,
      linear: (x, w, options) => projection(b)(x, w, options?.bias),
      kvAppend: (layer, k, v) => void appended.set(layer, { k, v }),
      attention,
    },
    cache: { options: { context: config.context }, layer: (i) => layers[i]! } as KvCache,
    batchOf(batch) {
      texts = batch;
      const { positions, cuSeqlens } = batch;
      const none = positions; // of a cache, which nothing reads
      return { positions, cuSeqlens, kvLengths: none, slots: none, blockTable: none, lastRows: none };
    },
  };
}
