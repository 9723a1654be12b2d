import type { AttentionBatch, AttnConfig, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import { layerRope } from '../config/layer-rope.js';

/** The weights of an attention; biases are optional. */
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
  /** [H], a score per head without a value. */
  readonly sinks?: Weight | undefined;
}

/** A step's queries [T, H, d], keys and values [T, Hk, d]. */
export interface Heads {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  /** [T, H · d]: the heads' outputs are multiplied by its sigmoid (Qiu et al. 2025, Gated Attention). */
  readonly gate?: Tensor;
}

/** x [T, D], normed → q, k and v before the rotation. */
export function projectHeads(b: Backend, { heads, kvHeads, headDim }: DecoderConfig) {
  return (x: Tensor, w: AttentionWeights): Heads => {
    const T = x.shape[0]!;
    return {
      q: b.view(b.linear(x, w.q, { bias: w.qBias }), [T, heads, headDim]), // [T, H, d]
      k: b.view(b.linear(x, w.k, { bias: w.kBias }), [T, kvHeads, headDim]), // [T, Hk, d]
      v: b.view(b.linear(x, w.v, { bias: w.vBias }), [T, kvHeads, headDim]), // [T, Hk, d]
    };
  };
}

/**
 * Rotates q and k (but for layers of `unrotated`), appends k and v to layer i of the cache, attends, projects the heads: → [T, D]. Computes in bf16 if
 * the weights are below f32.
 */
export function attendCache(b: Backend, config: DecoderConfig) {
  const { heads, headDim } = config;
  const attnConfigs = config.windows.map((window) => attnConfig(config, window));

  return (
    { q, k, v, gate }: Heads,
    w: AttentionWeights,
    i: number,
    batch: AttentionBatch,
    cache: KvCache,
  ): Tensor => {
    const T = q.shape[0]!;
    const kv = cache.layer(i);
    const rope = layerRope(config, i, cache);
    const rotated = (x: Tensor) => (config.unrotated?.[i] ? x : b.rope(x, batch.positions, rope));
    const rotatedQ = rotated(q);
    b.kvAppend(kv, rotated(k), v, batch.slots);
    const attnConfig = { ...attnConfigs[i]!, bf16: w.q.format !== 'f32' };
    const y = b.attention(rotatedQ, kv, batch, attnConfig, w.sinks); // [T, H, d]
    const flat = b.view(y, [T, heads * headDim]);
    return b.linear(gate ? b.mul(flat, b.sigmoid(gate)) : flat, w.attnOutput, { bias: w.attnOutputBias }); // [T, D]
  };
}

/**
 * Grouped-query self-attention with rotary positions over a KV cache (Ainslie et al. 2023). The returned function: x
 * [T, D], normed → [T, D].
 */
export function selfAttention(b: Backend, config: DecoderConfig) {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);

  return (x: Tensor, w: AttentionWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor =>
    attend(project(x, w), w, i, batch, cache);
}

function attnConfig(
  { heads, kvHeads, headDim, attentionScale = 1 / Math.sqrt(headDim), attentionCap = 0 }: DecoderConfig,
  window: number,
): AttnConfig {
  return { heads, kvHeads, headDim, scale: attentionScale, causal: true, window, softCap: attentionCap };
}
