import type { WeightEntry } from './weights/weight-table.js';

type Entries<Field extends string, Entry> = Readonly<Record<Field, Entry>>;
type Needs<Key extends keyof WeightEntry> = Required<Pick<WeightEntry, Key>>;
type ModelEntry = WeightEntry & Needs<'readBy'>;
type Matrix = 'q' | 'k' | 'v' | 'attnOutput' | 'gate' | 'up' | 'down';

/** The parameters of Llama. Few models have biases (`attention_bias`, `mlp_bias`). */
export const llamaWeights: {
  readonly model: Entries<'embedding' | 'outputNorm', ModelEntry> &
    Entries<'output', ModelEntry & Needs<'when'>>;
  readonly layer: Entries<'attnNorm' | 'ffnNorm' | Matrix, WeightEntry> &
    Entries<`${Matrix}Bias`, WeightEntry & Needs<'optional'>>;
} = {
  model: {
    embedding: {
      gguf: 'token_embd.weight',
      huggingFace: 'model.embed_tokens.weight',
      shape: (c) => [c.vocabulary, c.width],
      readBy: (c) => (c.tied ? ['embed', 'logits'] : ['embed']),
      uses: (c) => (c.tied ? ['embed', 'row'] : ['embed']),
    },
    outputNorm: {
      gguf: 'output_norm.weight',
      huggingFace: 'model.norm.weight',
      shape: (c) => [c.width],
      readBy: () => ['logits'],
    },
    output: {
      gguf: 'output.weight',
      huggingFace: 'lm_head.weight',
      shape: (c) => [c.vocabulary, c.width],
      when: (c) => !c.tied,
      readBy: () => ['logits'],
      uses: () => ['row'],
    },
  },
  layer: {
    attnNorm: {
      gguf: 'blk.{i}.attn_norm.weight',
      huggingFace: 'model.layers.{i}.input_layernorm.weight',
      shape: (c) => [c.width],
    },
    q: {
      gguf: 'blk.{i}.attn_q.weight',
      huggingFace: 'model.layers.{i}.self_attn.q_proj.weight',
      shape: (c) => [c.heads * c.headDim, c.width],
    },
    k: {
      gguf: 'blk.{i}.attn_k.weight',
      huggingFace: 'model.layers.{i}.self_attn.k_proj.weight',
      shape: (c) => [c.kvHeads * c.headDim, c.width],
    },
    v: {
      gguf: 'blk.{i}.attn_v.weight',
      huggingFace: 'model.layers.{i}.self_attn.v_proj.weight',
      shape: (c) => [c.kvHeads * c.headDim, c.width],
    },
    attnOutput: {
      gguf: 'blk.{i}.attn_output.weight',
      huggingFace: 'model.layers.{i}.self_attn.o_proj.weight',
      shape: (c) => [c.width, c.heads * c.headDim],
    },
    qBias: {
      gguf: 'blk.{i}.attn_q.bias',
      huggingFace: 'model.layers.{i}.self_attn.q_proj.bias',
      shape: (c) => [c.heads * c.headDim],
      optional: true,
    },
    kBias: {
      gguf: 'blk.{i}.attn_k.bias',
      huggingFace: 'model.layers.{i}.self_attn.k_proj.bias',
      shape: (c) => [c.kvHeads * c.headDim],
      optional: true,
    },
    vBias: {
      gguf: 'blk.{i}.attn_v.bias',
      huggingFace: 'model.layers.{i}.self_attn.v_proj.bias',
      shape: (c) => [c.kvHeads * c.headDim],
      optional: true,
    },
    attnOutputBias: {
      gguf: 'blk.{i}.attn_output.bias',
      huggingFace: 'model.layers.{i}.self_attn.o_proj.bias',
      shape: (c) => [c.width],
      optional: true,
    },
    ffnNorm: {
      gguf: 'blk.{i}.ffn_norm.weight',
      huggingFace: 'model.layers.{i}.post_attention_layernorm.weight',
      shape: (c) => [c.width],
    },
    gate: {
      gguf: 'blk.{i}.ffn_gate.weight',
      huggingFace: 'model.layers.{i}.mlp.gate_proj.weight',
      shape: (c) => [c.feedForward, c.width],
    },
    up: {
      gguf: 'blk.{i}.ffn_up.weight',
      huggingFace: 'model.layers.{i}.mlp.up_proj.weight',
      shape: (c) => [c.feedForward, c.width],
    },
    down: {
      gguf: 'blk.{i}.ffn_down.weight',
      huggingFace: 'model.layers.{i}.mlp.down_proj.weight',
      shape: (c) => [c.width, c.feedForward],
    },
    gateBias: {
      gguf: 'blk.{i}.ffn_gate.bias',
      huggingFace: 'model.layers.{i}.mlp.gate_proj.bias',
      shape: (c) => [c.feedForward],
      optional: true,
    },
    upBias: {
      gguf: 'blk.{i}.ffn_up.bias',
      huggingFace: 'model.layers.{i}.mlp.up_proj.bias',
      shape: (c) => [c.feedForward],
      optional: true,
    },
    downBias: {
      gguf: 'blk.{i}.ffn_down.bias',
      huggingFace: 'model.layers.{i}.mlp.down_proj.bias',
      shape: (c) => [c.width],
      optional: true,
    },
  },
};
