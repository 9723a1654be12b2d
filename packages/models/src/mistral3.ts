import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { type AttentionWeights, attendCache, projectHeads, selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { limits } from './config/decoder-config.js';
import { decoderConfigFromGguf, type GgufSource } from './config/gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { mixtralWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { textPart } from './gemma3.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

/** Llama's parameters, and the factors of q by position. */
export const mistral3Weights = {
  model: {
    ...llamaWeights.model,
    temperatures: {
      gguf: 'temperatures',
      huggingFace: 'temperatures',
      shape: (c) => [c.positionRows!, 1],
      constant: ({ attentionTemperature }, p) =>
        1 + attentionTemperature!.scale * Math.log(1 + Math.floor(p / attentionTemperature!.length)),
      when: (c) => c.attentionTemperature !== undefined,
      readBy: () => ['layer'],
      uses: () => ['embed'],
    },
  },
  layer: llamaWeights.layer,
} as const satisfies WeightTable;

/** Ministral 3 (Mistral AI 2025) and the language model of Mistral Small 3: Llama; q grows with the position. */
export const mistral3 = {
  name: 'mistral3',
  names: {
    gguf: ['mistral3'],
    huggingFace: ['Mistral3ForConditionalGeneration', 'Ministral3ForCausalLM', 'mistral3', 'ministral3'],
  },
  weights: mistral3Weights,
  rename: textPart,
  gguf: {
    name: 'mistral3',
    rope: 'interleaved',
    metadata: ({ attentionTemperature: temperature }): Record<string, { type: 'float32'; value: number }> =>
      temperature
        ? {
            'attention.temperature_scale': { type: 'float32', value: temperature.scale },
            'rope.scaling.yarn_log_multiplier': { type: 'float32', value: 0 }, // attn_factor says all
          }
        : {},
  },
  configFromGguf,
  configFromHuggingFace,
  build: mistral3Decoder,
} satisfies Architecture;

/** YaRN's log multiplier m: cos and sin are multiplied by (1 + 0.1 ln s) / (1 + 0.1 m ln s) of the scaling factor s. */
function configFromGguf(source: GgufSource): DecoderConfig {
  const { settings } = source;
  const config = decoderConfigFromGguf(source, 'interleaved');
  const { rope } = config;
  const multiplier = settings.number('rope.scaling.yarn_log_multiplier', 0);
  const known = withTemperature(config, settings, 'attention.temperature_scale');
  if (rope.scaling?.kind !== 'yarn' || multiplier === 0) return known;
  const attentionFactor =
    rope.scaling.attentionFactor! / (1 + 0.1 * multiplier * Math.log(rope.scaling.factor));
  return { ...known, rope: { ...rope, scaling: { ...rope.scaling, attentionFactor } } };
}

/** Of transformers' Ministral3Config. */
const defaults = { num_key_value_heads: 8, rms_norm_eps: 1e-5, max_position_embeddings: 262_144 };

function configFromHuggingFace({ settings, weights }: HuggingFaceSource): DecoderConfig {
  const text = (settings.section('text_config') ?? settings).withDefaults(defaults);
  const config = decoderConfigFromHuggingFace({ settings: text, weights }, mixtralWindows);
  const tied = settings.flag('tie_word_embeddings') ?? text.flag('tie_word_embeddings') ?? false;
  const rope = text.section('rope_parameters') ?? text;
  return withTemperature({ ...config, tied }, rope, 'llama_4_scaling_beta');
}

/** q grows at multiples of the length that YaRN stretches. */
function withTemperature(config: DecoderConfig, settings: Settings, key: string): DecoderConfig {
  const scale = settings.number(key, 0);
  const { scaling } = config.rope;
  if (scale === 0) return config;
  if (scaling?.kind !== 'yarn') return settings.refuse(key, 'it needs YaRN');
  const attentionTemperature = { scale, length: scaling.originalContext };
  return { ...config, attentionTemperature, positionRows: Math.min(config.context, limits.context) };
}

function mistral3Decoder(
  b: Backend,
  w: LoadedWeights<typeof mistral3Weights>,
  config: DecoderConfig,
): Decoder {
  const attention = config.attentionTemperature ? warmedAttention(b, w, config) : selfAttention(b, config);
  const blocks = { attention, feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}

/** Self-attention whose q is multiplied by the factor of its position. x [T, D], normed → [T, D]. */
function warmedAttention(b: Backend, w: LoadedWeights<typeof mistral3Weights>, config: DecoderConfig) {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);
  return (x: Tensor, layer: AttentionWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const { q, k, v } = project(x, layer); // [T, H, d], [T, Hk, d], [T, Hk, d]
    const [T, heads, d] = q.shape as readonly [number, number, number];
    const factors = b.embed(w.temperatures!, batch.positions); // [T, 1]
    const warmed = b.weightedSum(b.view(q, [T, 1, heads * d]), factors);
    return attend({ q: b.view(warmed, q.shape), k, v }, layer, i, batch, cache);
  };
}
