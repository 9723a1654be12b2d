import { longRopeMagnitude, type PhiSizes } from './plain/phi.js';
import { randomParameters, withLayers } from './random-folder.js';

const short = [1, 1.05, 1.1, 1.3, 1.6, 2];
const long = [1, 1.5, 3, 6, 12, 20];

/**
 * A minimal config.json of Phi-4-mini with all features: 12 of 16 elements rotate; trained for 12 tokens, stretched to
 * 48.
 */
export const phiConfig = {
  architectures: ['Phi3ForCausalLM'],
  model_type: 'phi3',
  hidden_size: 64,
  intermediate_size: 40,
  num_hidden_layers: 3,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 20,
  original_max_position_embeddings: 12,
  max_position_embeddings: 48,
  rms_norm_eps: 1e-5,
  hidden_act: 'silu',
  partial_rotary_factor: 0.75,
  rope_theta: 10_000,
  rope_scaling: { type: 'longrope', short_factor: short, long_factor: long },
  sliding_window: 10,
  tie_word_embeddings: true,
  attention_bias: false,
};

const magnitude = longRopeMagnitude(48, 12);
const rotation = { theta: 10_000, elements: 12, magnitude };

/** Caches of at most 12 tokens, and longer ones. */
export const shortSizes: PhiSizes = {
  layers: 3,
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  eps: 1e-5,
  window: 10,
  rotation: { ...rotation, divisors: short },
  output: 'model.embed_tokens',
};
export const longSizes: PhiSizes = { ...shortSizes, rotation: { ...rotation, divisors: long } };

/** Phi-3-mini: whole heads rotate; no stretched context; an untied output. */
export const phi3MiniConfig = {
  ...phiConfig,
  original_max_position_embeddings: 48,
  partial_rotary_factor: undefined,
  rope_scaling: null,
  tie_word_embeddings: false,
};
export const phi3MiniSizes: PhiSizes = {
  ...shortSizes,
  rotation: { theta: 10_000, elements: 16 },
  output: 'lm_head',
};

const at = 'model.layers.{i}';
const layer = {
  [`${at}.input_layernorm.weight`]: [64],
  [`${at}.self_attn.qkv_proj.weight`]: [64 + 2 * 32, 64],
  [`${at}.self_attn.o_proj.weight`]: [64, 64],
  [`${at}.post_attention_layernorm.weight`]: [64],
  [`${at}.mlp.gate_up_proj.weight`]: [2 * 40, 64],
  [`${at}.mlp.down_proj.weight`]: [64, 40],
};
const model = { 'model.embed_tokens.weight': [20, 64], 'model.norm.weight': [64] };

export const phiParameters = randomParameters(withLayers(model, layer, 3), 0.25);
export const phi3MiniParameters = randomParameters(
  withLayers({ ...model, 'lm_head.weight': [20, 64] }, layer, 3),
  0.25,
);
