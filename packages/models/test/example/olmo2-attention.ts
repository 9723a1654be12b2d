import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import { type DecoderConfig, type LoadedWeights, layerRope } from '@quern/models';
import type { olmo2Weights } from './olmo2-weights.js';

type Layer = LoadedWeights<typeof olmo2Weights>['layers'][number];

/** Grouped-query attention; q and k are normed over all heads together, before the rotation. */
export function olmo2Attention(b: Backend, config: DecoderConfig) {
  const { heads, kvHeads, headDim, rmsEps, windows } = config;
  return (x: Tensor, w: Layer, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const T = x.shape[0]!;
    const kv = cache.layer(i);
    const rope = layerRope(config, i, cache);
    const normedQ = b.rmsNorm(b.linear(x, w.q), w.qNorm, { eps: rmsEps }); // [T, H·d]
    const normedK = b.rmsNorm(b.linear(x, w.k), w.kNorm, { eps: rmsEps }); // [T, Hk·d]
    const q = b.rope(b.view(normedQ, [T, heads, headDim]), batch.positions, rope); // [T, H, d]
    const k = b.rope(b.view(normedK, [T, kvHeads, headDim]), batch.positions, rope); // [T, Hk, d]
    const v = b.view(b.linear(x, w.v), [T, kvHeads, headDim]); // [T, Hk, d]
    b.kvAppend(kv, k, v, batch.slots);
    const y = b.attention(q, kv, batch, {
      heads,
      kvHeads,
      headDim,
      scale: 1 / Math.sqrt(headDim),
      causal: true,
      window: windows[i]!,
    }); // [T, H, d]
    return b.linear(b.view(y, [T, heads * headDim]), w.attnOutput); // [T, D]
  };
}
