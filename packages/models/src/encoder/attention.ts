import type { Backend, Tensor, Weight } from '@quern/core';
import type { EncoderBatch } from './encoder.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { windowedAttention } from './windowed-attention.js';

/** The attention weights of an encoder layer. */
export interface EncoderAttentionWeights {
  /** [D, D] each. */
  readonly q: Weight;
  readonly k: Weight;
  readonly v: Weight;
  readonly attnOutput: Weight;
  /** [D] each. */
  readonly qBias?: Weight | undefined;
  readonly kBias?: Weight | undefined;
  readonly vBias?: Weight | undefined;
  readonly attnOutputBias?: Weight | undefined;
}

/**
 * Self-attention; a row sees every row of its text, or those in the window of the layer: x [T, D] → [T, D]. Computes in
 * bf16 if the weights are below f32. Rotates q and k if the model has no position table.
 */
export function encoderAttention(b: Backend, config: EncoderConfig, i = 0) {
  const { heads, headDim, positions } = config;
  const project = projection(b);
  const window = config.windows?.[i] ?? 0;
  const rope = window > 0 && config.windowRope ? config.windowRope : config.rope;
  const attn = { heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim), causal: false, window };
  return (x: Tensor, w: EncoderAttentionWeights, batch: EncoderBatch): Tensor => {
    const [T, D] = x.shape as [number, number];
    const split = (y: Tensor) => b.view(y, [T, heads, headDim]);
    const place = (y: Tensor) => (positions > 0 ? y : b.rope(y, batch.positions, rope));
    const q = split(project(x, w.q, w.qBias)); // [T, H, d]
    const k = split(project(x, w.k, w.kBias)); // [T, H, d]
    const v = split(project(x, w.v, w.vBias)); // [T, H, d]
    const bf16 = w.q.format !== 'f32';
    const y = windowedAttention(b, { q: place(q), k: place(k), v }, batch, { ...attn, bf16 }); // [T, H, d]
    return project(b.view(y, [T, D]), w.attnOutput, w.attnOutputBias); // [T, D]
  };
}
