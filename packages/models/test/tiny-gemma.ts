import type { GemmaSizes } from './plain/gemma.js';
import { randomParameters, withLayers } from './random-folder.js';

/**
 * A minimal config.json of Gemma 3 with all features: of 7 layers the sixth has full attention, the others a window of
 * 5.
 */
export const gemma3Config = {
  architectures: ['Gemma3ForCausalLM'],
  model_type: 'gemma3_text',
  hidden_size: 24,
  intermediate_size: 40,
  num_hidden_layers: 7,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 8,
  vocab_size: 20,
  max_position_embeddings: 64,
  rms_norm_eps: 1e-6,
  hidden_activation: 'gelu_pytorch_tanh',
  query_pre_attn_scalar: 10,
  sliding_window: 5,
  rope_theta: 1_000_000,
  rope_local_base_freq: 10_000,
  rope_scaling: { rope_type: 'linear', factor: 8 },
  attn_logit_softcapping: null,
  final_logit_softcapping: null,
};

export const gemma3Sizes: GemmaSizes = {
  layers: 7,
  width: 24,
  headDim: 8,
  eps: 1e-6,
  window: 5,
  period: 6,
  queryScalar: 10,
  globalRotation: { theta: 1_000_000, elements: 8, divisors: [8, 8, 8, 8] },
  localRotation: { theta: 10_000, elements: 8 },
  headNorms: true,
};

/** A minimal config.json of Gemma 2: full attention in every other of 4 layers; both soft caps change the logits. */
export const gemma2Config = {
  ...gemma3Config,
  architectures: ['Gemma2ForCausalLM'],
  model_type: 'gemma2',
  num_hidden_layers: 4,
  rope_theta: 10_000,
  rope_scaling: null,
  attn_logit_softcapping: 0.8,
  final_logit_softcapping: 2,
};

export const gemma2Sizes: GemmaSizes = {
  ...gemma3Sizes,
  layers: 4,
  period: 2,
  globalRotation: { theta: 10_000, elements: 8 },
  headNorms: false,
  attentionCap: 0.8,
  logitCap: 2,
};

const layer = (prefix: string) => ({
  [`${prefix}.input_layernorm.weight`]: [24],
  [`${prefix}.self_attn.q_proj.weight`]: [32, 24],
  [`${prefix}.self_attn.k_proj.weight`]: [16, 24],
  [`${prefix}.self_attn.v_proj.weight`]: [16, 24],
  [`${prefix}.self_attn.o_proj.weight`]: [24, 32],
  [`${prefix}.post_attention_layernorm.weight`]: [24],
  [`${prefix}.pre_feedforward_layernorm.weight`]: [24],
  [`${prefix}.mlp.gate_proj.weight`]: [40, 24],
  [`${prefix}.mlp.up_proj.weight`]: [40, 24],
  [`${prefix}.mlp.down_proj.weight`]: [24, 40],
  [`${prefix}.post_feedforward_layernorm.weight`]: [24],
});
const model = { 'model.embed_tokens.weight': [20, 24], 'model.norm.weight': [24] };
const at = 'model.layers.{i}';
const headNorms = { [`${at}.self_attn.q_norm.weight`]: [8], [`${at}.self_attn.k_norm.weight`]: [8] };

export const gemma2Parameters = randomParameters(withLayers(model, layer(at), 4), 0.3);
export const gemma3Parameters = randomParameters(withLayers(model, { ...layer(at), ...headNorms }, 7), 0.3);
