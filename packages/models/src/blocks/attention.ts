import type { AttentionBatch, AttnConfig, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import { layerRope } from '../config/layer-rope.js';

/** The weights of an attention; biases and head norms where the architecture has them. */
export interface AttentionWeights {
  /** [H·d, D] */
  readonly q: Weight;
  /** [Hk·d, D] */
  readonly k: Weight;
  /** [Hk·d, D] */
  readonly v: Weight;
  /** [D, H·d] */
  readonly attnOutput: Weight;
  readonly qBias?: Weight | undefined;
  readonly kBias?: Weight | undefined;
  readonly vBias?: Weight | undefined;
  readonly attnOutputBias?: Weight | undefined;
  /** [d], for every head of q alike. */
  readonly qNorm?: Weight | undefined;
  /** [d], for every head of k alike. */
  readonly kNorm?: Weight | undefined;
}

/**
 * Grouped-query self-attention with rotary positions over a cache. The returned function takes x [T, D], already normed,
 * appends its keys and values to the layer's cache, and gives [T, D]. In bf16 where the weights are rounded.
 */
export function selfAttention(b: Backend, config: DecoderConfig) {
  const { heads, kvHeads, headDim, rmsEps } = config;
  const attnConfigs = config.windows.map((window) => attnConfig(config, window));
  const norm = (x: Tensor, w: Weight | undefined) => (w ? b.rmsNorm(x, w, { eps: rmsEps }) : x);

  return (x: Tensor, w: AttentionWeights, batch: AttentionBatch, cache: KvCache, layer: number): Tensor => {
    const T = x.shape[0]!;
    const kv = cache.layer(layer);
    const rope = layerRope(config, layer, cache);
    const q = b.view(b.linear(x, w.q, { bias: w.qBias }), [T, heads, headDim]); // [T, H, d]
    const k = b.view(b.linear(x, w.k, { bias: w.kBias }), [T, kvHeads, headDim]); // [T, Hk, d]
    const v = b.view(b.linear(x, w.v, { bias: w.vBias }), [T, kvHeads, headDim]); // [T, Hk, d]
    const [normedQ, normedK] = [norm(q, w.qNorm), norm(k, w.kNorm)];
    const rotatedQ = b.rope(normedQ, batch.positions, rope);
    const rotatedK = b.rope(normedK, batch.positions, rope);
    b.kvAppend(kv, rotatedK, v, batch.slots);
    const y = b.attention(rotatedQ, kv, batch, { ...attnConfigs[layer]!, bf16: w.q.format !== 'f32' }); // [T, H, d]
    return b.linear(b.view(y, [T, heads * headDim]), w.attnOutput, { bias: w.attnOutputBias }); // [T, D]
  };
}

function attnConfig(
  { heads, kvHeads, headDim, attentionScale = 1 / Math.sqrt(headDim), attentionCap = 0 }: DecoderConfig,
  window: number,
): AttnConfig {
  return { heads, kvHeads, headDim, scale: attentionScale, causal: true, window, softCap: attentionCap };
}
