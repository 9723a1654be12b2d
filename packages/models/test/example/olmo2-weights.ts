import { llamaWeights, type WeightTable } from '@quern/models';

const { attnNorm, ffnNorm, ...shared } = llamaWeights.layer; // OLMo 2 norms a block's output, not its input

/** Llama's parameters with other norms. */
export const olmo2Weights = {
  model: llamaWeights.model,
  layer: {
    ...shared,
    qNorm: {
      gguf: 'blk.{i}.attn_q_norm.weight',
      huggingFace: 'model.layers.{i}.self_attn.q_norm.weight',
      shape: (c) => [c.heads * c.headDim],
    },
    kNorm: {
      gguf: 'blk.{i}.attn_k_norm.weight',
      huggingFace: 'model.layers.{i}.self_attn.k_norm.weight',
      shape: (c) => [c.kvHeads * c.headDim],
    },
    attnOutputNorm: {
      gguf: 'blk.{i}.post_attention_norm.weight',
      huggingFace: 'model.layers.{i}.post_attention_layernorm.weight',
      shape: (c) => [c.width],
    },
    ffnOutputNorm: {
      gguf: 'blk.{i}.post_ffw_norm.weight',
      huggingFace: 'model.layers.{i}.post_feedforward_layernorm.weight',
      shape: (c) => [c.width],
    },
  },
} as const satisfies WeightTable;
