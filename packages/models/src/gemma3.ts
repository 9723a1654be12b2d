import type { Architecture } from './architecture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { gemmaDiffers, gemmaFromGguf, gemmaFromHuggingFace } from './config/gemma.js';
import type { HuggingFaceSource } from './config/hugging-face.js';
import { gemma2Weights, gemmaDecoder, gemmaNorm } from './gemma2.js';
import { qwen3Attention } from './qwen3.js';
import { mapTensors } from './weights/map-tensors.js';
import type { WeightFile } from './weights/weight-file.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

/** Gemma 2's parameters, and norms for the heads of q and k. */
export const gemma3Weights = {
  model: gemma2Weights.model,
  layer: {
    ...gemma2Weights.layer,
    qNorm: gemmaNorm('blk.{i}.attn_q_norm', 'model.layers.{i}.self_attn.q_norm', (c) => c.headDim),
    kNorm: gemmaNorm('blk.{i}.attn_k_norm', 'model.layers.{i}.self_attn.k_norm', (c) => c.headDim),
  },
} as const satisfies WeightTable;

/**
 * Gemma 3 (Gemma Team 2025), the language model: of 6 layers, 5 have a sliding window and a RoPE base of their own;
 * heads of q and k are normed, instead of soft caps.
 */
export const gemma3: Architecture = {
  name: 'gemma3',
  names: {
    gguf: ['gemma3'],
    huggingFace: ['Gemma3ForCausalLM', 'Gemma3ForConditionalGeneration', 'gemma3_text', 'gemma3'],
  },
  weights: gemma3Weights,
  rename: textPart,
  gguf: { name: 'gemma3', rope: 'halves', windowPeriod: 6, llamaCppDiffers: gemmaDiffers(6, 62) },
  configFromGguf: (source) => gemmaFromGguf(source, { windowPeriod: 6, windowTheta }, 62),
  configFromHuggingFace: ({ settings, ...source }) => {
    const text = settings.section('text_config') ?? settings;
    if (text.flag('use_bidirectional_attention'))
      text.refuse('use_bidirectional_attention', 'a decoder attends only to earlier positions');
    return gemma3FromHuggingFace({ ...source, settings: text });
  },
  build: (b, w: LoadedWeights<typeof gemma3Weights>, config) =>
    gemmaDecoder(b, w, config, qwen3Attention(b, config)),
};

/** The configuration of Gemma 3 from the settings of its language model. */
export function gemma3FromHuggingFace({ settings, ...source }: HuggingFaceSource): DecoderConfig {
  const text = settings.withDefaults(gemma3Defaults);
  const config = gemmaFromHuggingFace({ ...source, settings: text }, 6);
  const local = { theta: text.positive('rope_local_base_freq', windowTheta), layout: 'halves' } as const;
  return { windowRope: local, ...config };
}

/** RoPE base of layers with a window. */
const windowTheta = 10_000;

/** Defaults of transformers' Gemma3TextConfig: config.json of vision models omits most settings. */
const gemma3Defaults = {
  vocab_size: 262_208,
  num_attention_heads: 8,
  num_key_value_heads: 4,
  head_dim: 256,
  query_pre_attn_scalar: 256,
  sliding_window: 4096,
  rope_theta: 1_000_000,
  max_position_embeddings: 131_072,
};

/** The language model of a vision model, under the names of a text-only model. */
export function textPart(file: WeightFile): WeightFile {
  const named = (name: string) => name.replace(/^(model\.)?language_model\./, '$1');
  return mapTensors(file, (tensor) => [{ ...tensor, name: named(tensor.name) }]);
}
