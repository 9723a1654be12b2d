import type { Architecture } from './architecture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightTable } from './weights/weight-table.js';

const attnNorm = layerNormEntries('blk.{i}.attn_norm', 'model.layers.{i}.input_layernorm');
const ffnNorm = layerNormEntries('blk.{i}.ffn_norm', 'model.layers.{i}.post_attention_layernorm');
const when = ({ parallel }: DecoderConfig) => !parallel;

/** Llama's parameters with LayerNorms; models whose blocks run side by side have one per layer. */
export const stableLmWeights = {
  model: layerNormEnds(),
  layer: {
    ...llamaWeights.layer,
    ...{ attnNorm: attnNorm.weight, attnNormBias: attnNorm.bias },
    ffnNorm: { ...ffnNorm.weight, when },
    ffnNormBias: { ...ffnNorm.bias, when },
  },
} as const satisfies WeightTable;

/** StableLM 3B and StableLM 2 1.6B (Bellagente et al. 2024): Llama with LayerNorms and partial rotation of heads. */
export const stableLm = {
  name: 'stablelm',
  names: { gguf: ['stablelm'], huggingFace: ['StableLmForCausalLM', 'stablelm'] },
  weights: stableLmWeights,
  gguf: {
    name: 'stablelm',
    rope: 'halves',
    layerNorm: true,
    metadata: ({ parallel }) => ({ use_parallel_residual: parallel === true }),
  },
  configFromGguf: (source) => {
    const { settings, weights } = source;
    if (weights.tensors.has('blk.0.attn_q_norm.weight'))
      settings.refuse('block_count', 'heads of q and k have LayerNorms of their own (StableLM 2 12B)');
    const parallel = !weights.tensors.has('blk.0.ffn_norm.weight');
    return { ...decoderConfigFromGguf(source, 'halves', { layerNorm: true }), parallel };
  },
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults(defaults);
    if (known.flag('qk_layernorm'))
      known.refuse('qk_layernorm', 'heads of q and k have LayerNorms of their own (StableLM 2 12B)');
    const rules = { partialRotary: true, epsilon: ['layer_norm_eps', 1e-5] } as const;
    const config = decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, rules);
    return { ...config, parallel: known.flag('use_parallel_residual') ?? false };
  },
  build: llamaDecoder,
} satisfies Architecture;

/** Of transformers' StableLmConfig. */
const defaults = { num_key_value_heads: 32, max_position_embeddings: 4096, partial_rotary_factor: 0.25 };
