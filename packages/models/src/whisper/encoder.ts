import type { Backend, Tensor, Weight } from '@quern/core';
import type { LoadedWeights } from '../weights/weight-table.js';
import type { StackConfig } from './config.js';
import { type FeedForwardWeights, geluFeedForward, layerNorm } from './parts.js';
import type { encoderWeights } from './weights.js';

/** The encoder's weights; a missing position table has been computed. */
export type EncoderWeights = LoadedWeights<typeof encoderWeights> & { readonly positions: Weight };

/** Positions [n] = 0 … n − 1, and cuSeqlens [0, n]: the window is one sequence. */
export interface WindowInputs {
  readonly positions: Tensor;
  readonly cuSeqlens: Tensor;
}

/** Records the encoder: log-mel frames [2n, M] of one window → hidden states [n, D]. */
export type Encode = (mel: Tensor, window: WindowInputs) => Tensor;

export function whisperEncoder(b: Backend, w: EncoderWeights, config: StackConfig): Encode {
  const { heads, headDim } = config;
  const feedForward = geluFeedForward(b);
  const norm = layerNorm(b);
  const attnConfig = { heads, kvHeads: heads, headDim, scale: 1 / Math.sqrt(headDim), causal: false };

  const attention = (x: Tensor, layer: EncoderWeights['layers'][number], { cuSeqlens }: WindowInputs) => {
    const shape = [x.shape[0]!, heads, headDim];
    const q = b.view(b.linear(x, layer.q, { bias: layer.qBias }), shape); // [n, H, d]
    const k = b.view(b.linear(x, layer.k), shape); // [n, H, d]
    const v = b.view(b.linear(x, layer.v, { bias: layer.vBias }), shape); // [n, H, d]
    const bf16 = layer.q.format !== 'f32'; // the weights are rounded anyway
    const y = b.uncachedAttention(q, k, v, { cuSeqlens }, { ...attnConfig, bf16 }); // [n, H, d]
    return b.linear(b.view(y, x.shape), layer.attnOutput, { bias: layer.attnOutputBias }); // [n, D]
  };

  return (mel, window) => {
    const sound = b.gelu(b.conv1d(mel, w.conv1, { bias: w.conv1Bias, padding: 1 })); // [2n, D]
    const halved = b.gelu(b.conv1d(sound, w.conv2, { bias: w.conv2Bias, stride: 2, padding: 1 })); // [n, D]
    let x = b.add(halved, b.embed(w.positions, window.positions)); // [n, D]
    for (const layer of w.layers) {
      x = b.add(x, attention(norm(x, layer.attnNorm, layer.attnNormBias), layer, window)); // [n, D]
      x = b.add(x, feedForward(norm(x, layer.ffnNorm, layer.ffnNormBias), layer as FeedForwardWeights));
    }
    return norm(x, w.outputNorm, w.outputNormBias);
  };
}

/** Sinusoids of positions [n, D] (Vaswani et al. 2017, §3.5), sines first, as Whisper lays them out. */
export function sinusoids({ context, width }: StackConfig): Float32Array<ArrayBuffer> {
  const half = width / 2;
  const step = Math.log(10_000) / (half - 1);
  const table = new Float32Array(context * width);
  for (let position = 0; position < context; position++)
    for (let i = 0; i < half; i++) {
      const angle = position * Math.exp(-step * i);
      table[position * width + i] = Math.sin(angle);
      table[position * width + half + i] = Math.cos(angle);
    }
  return table;
}
