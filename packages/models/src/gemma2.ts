import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { gegluFeedForward } from './blocks/feed-forward.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { gemmaDiffers, gemmaFromGguf, gemmaFromHuggingFace } from './config/gemma.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightEntry } from './weights/weight-table.js';

/** Norms multiply by 1 + w. GGUF files hold the sum. */
export const gemmaNorm = (
  gguf: string,
  huggingFace: string,
  size: (config: DecoderConfig) => number = (c) => c.width,
) =>
  ({
    gguf: `${gguf}.weight`,
    huggingFace: `${huggingFace}.weight`,
    shape: (c) => [size(c)],
    huggingFacePlus: 1,
  }) as const satisfies WeightEntry;

const { q, k, v, attnOutput, gate, up, down } = llamaWeights.layer;

type GemmaNorm = 'attnNorm' | 'attnOutputNorm' | 'ffnNorm' | 'ffnOutputNorm';

/** Llama's matrices, and norms before and after each block. */
export const gemma2Weights: {
  readonly model: typeof llamaWeights.model;
  readonly layer: Readonly<
    Record<'q' | 'k' | 'v' | 'attnOutput' | 'gate' | 'up' | 'down' | GemmaNorm, WeightEntry>
  >;
} = {
  model: {
    ...llamaWeights.model,
    outputNorm: { ...llamaWeights.model.outputNorm, huggingFacePlus: 1 },
  },
  layer: {
    attnNorm: gemmaNorm('blk.{i}.attn_norm', 'model.layers.{i}.input_layernorm'),
    ...{ q, k, v, attnOutput },
    attnOutputNorm: gemmaNorm('blk.{i}.post_attention_norm', 'model.layers.{i}.post_attention_layernorm'),
    ffnNorm: gemmaNorm('blk.{i}.ffn_norm', 'model.layers.{i}.pre_feedforward_layernorm'),
    ...{ gate, up, down },
    ffnOutputNorm: gemmaNorm('blk.{i}.post_ffw_norm', 'model.layers.{i}.post_feedforward_layernorm'),
  },
};

/** Gemma 2 (Gemma Team 2024): every other layer has a sliding window; soft caps on scores and logits. */
export const gemma2: Architecture = {
  name: 'gemma2',
  names: { gguf: ['gemma2'], huggingFace: ['Gemma2ForCausalLM', 'gemma2'] },
  weights: gemma2Weights,
  gguf: { name: 'gemma2', rope: 'halves', windowPeriod: 2, llamaCppDiffers: gemmaDiffers(2, 46) },
  configFromGguf: (source) => {
    const caps = {
      attn_logit_softcapping: 50,
      final_logit_softcapping: 30,
      'attention.sliding_window': 4096,
    };
    const settings = source.settings.withDefaults(caps); // defaults as in llama.cpp
    return gemmaFromGguf({ ...source, settings }, { windowPeriod: 2 }, 46);
  },
  configFromHuggingFace: ({ settings, ...source }) =>
    gemmaFromHuggingFace({ ...source, settings: settings.withDefaults(gemma2Defaults) }, 2),
  build: (b, w: LoadedWeights<typeof gemma2Weights>, config) =>
    gemmaDecoder(b, w, config, selfAttention(b, config)),
};

/** Defaults of transformers' Gemma2Config. */
const gemma2Defaults = {
  head_dim: 256,
  query_pre_attn_scalar: 256,
  sliding_window: 4096,
  attn_logit_softcapping: 50,
  final_logit_softcapping: 30,
  max_position_embeddings: 8192,
};

type GemmaWeights = LoadedWeights<typeof gemma2Weights>;

/**
 * The decoder of Gemma 2 and 3. Rows of the embedding are multiplied by √D in f32; transformers rounds √D to the
 * weights' type.
 * @param attention x [T, D], already normed → [T, D]
 */
export function gemmaDecoder<W extends GemmaWeights>(
  b: Backend,
  w: W,
  config: DecoderConfig,
  attention: (
    x: Tensor,
    layer: W['layers'][number],
    i: number,
    batch: AttentionBatch,
    cache: KvCache,
  ) => Tensor,
): Decoder {
  const { logits, ...ends } = embedAndLogits(b, w, config);
  const feedForward = gegluFeedForward(b);
  const norm = rootMeanSquareNorm(b, config);

  return {
    ...ends,

    embed: (ids: Tensor) => b.scale(ends.embed(ids), Math.sqrt(config.width)), // [T, D]

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer: W['layers'][number] = w.layers[i]!;
      const attended = attention(norm(x, layer.attnNorm), layer, i, batch, cache); // [T, D]
      const h = b.add(x, norm(attended, layer.attnOutputNorm)); // [T, D]
      return b.add(h, norm(feedForward(norm(h, layer.ffnNorm), layer), layer.ffnOutputNorm)); // [T, D]
    },

    logits: (x: Tensor) => softCap(b, logits(x), config.logitCap), // [R, V]
  };
}

/** cap · tanh(x / cap). */
const softCap = (b: Backend, x: Tensor, cap: number | undefined): Tensor =>
  cap === undefined ? x : b.scale(b.tanh(b.scale(x, 1 / cap)), cap);
