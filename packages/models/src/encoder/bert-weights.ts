import type { WeightTable } from '../weights/weight-table.js';
import type { EncoderConfig } from './encoder-parameters.js';

const byIndex = () => ['embed'] as const;

const layer = (part: string) => `encoder.layer.{i}.${part}`;

/**
 * The parameters of BERT, and of RoBERTa under BERT's names. Embedding models lack the classifier and often the pooler.
 */
export const bertWeights = {
  model: {
    tokens: {
      gguf: 'token_embd.weight',
      huggingFace: 'embeddings.word_embeddings.weight',
      shape: (c) => [c.vocabulary, c.width],
      uses: byIndex,
    },
    positions: {
      gguf: 'position_embd.weight',
      huggingFace: 'embeddings.position_embeddings.weight',
      shape: (c) => [c.positions, c.width],
      uses: byIndex,
    },
    segments: {
      gguf: 'token_types.weight',
      huggingFace: 'embeddings.token_type_embeddings.weight',
      shape: (c) => [c.segments, c.width],
      uses: byIndex,
      when: (c) => c.segments > 0,
    },
    norm: {
      gguf: 'token_embd_norm.weight',
      huggingFace: 'embeddings.LayerNorm.weight',
      shape: (c) => [c.width],
    },
    normBias: {
      gguf: 'token_embd_norm.bias',
      huggingFace: 'embeddings.LayerNorm.bias',
      shape: (c) => [c.width],
    },
    pooler: {
      gguf: 'cls.weight',
      huggingFace: 'pooler.dense.weight',
      shape: (c) => [c.width, c.width],
      optional: true,
    },
    poolerBias: {
      gguf: 'cls.bias',
      huggingFace: 'pooler.dense.bias',
      shape: (c) => [c.width],
      optional: true,
    },
    classifier: {
      gguf: 'cls.output.weight',
      huggingFace: 'classifier.weight',
      shape: (c) => [c.labels, c.width],
      when: (c) => c.labels > 0,
    },
    classifierBias: {
      gguf: 'cls.output.bias',
      huggingFace: 'classifier.bias',
      shape: (c) => [c.labels],
      optional: true,
    },
  },
  layer: {
    q: {
      gguf: 'blk.{i}.attn_q.weight',
      huggingFace: layer('attention.self.query.weight'),
      shape: (c) => [c.width, c.width],
    },
    qBias: {
      gguf: 'blk.{i}.attn_q.bias',
      huggingFace: layer('attention.self.query.bias'),
      shape: (c) => [c.width],
    },
    k: {
      gguf: 'blk.{i}.attn_k.weight',
      huggingFace: layer('attention.self.key.weight'),
      shape: (c) => [c.width, c.width],
    },
    kBias: {
      gguf: 'blk.{i}.attn_k.bias',
      huggingFace: layer('attention.self.key.bias'),
      shape: (c) => [c.width],
    },
    v: {
      gguf: 'blk.{i}.attn_v.weight',
      huggingFace: layer('attention.self.value.weight'),
      shape: (c) => [c.width, c.width],
    },
    vBias: {
      gguf: 'blk.{i}.attn_v.bias',
      huggingFace: layer('attention.self.value.bias'),
      shape: (c) => [c.width],
    },
    attnOutput: {
      gguf: 'blk.{i}.attn_output.weight',
      huggingFace: layer('attention.output.dense.weight'),
      shape: (c) => [c.width, c.width],
    },
    attnOutputBias: {
      gguf: 'blk.{i}.attn_output.bias',
      huggingFace: layer('attention.output.dense.bias'),
      shape: (c) => [c.width],
    },
    attnNorm: {
      gguf: 'blk.{i}.attn_output_norm.weight',
      huggingFace: layer('attention.output.LayerNorm.weight'),
      shape: (c) => [c.width],
    },
    attnNormBias: {
      gguf: 'blk.{i}.attn_output_norm.bias',
      huggingFace: layer('attention.output.LayerNorm.bias'),
      shape: (c) => [c.width],
    },
    up: {
      gguf: 'blk.{i}.ffn_up.weight',
      huggingFace: layer('intermediate.dense.weight'),
      shape: (c) => [c.feedForward, c.width],
    },
    upBias: {
      gguf: 'blk.{i}.ffn_up.bias',
      huggingFace: layer('intermediate.dense.bias'),
      shape: (c) => [c.feedForward],
    },
    down: {
      gguf: 'blk.{i}.ffn_down.weight',
      huggingFace: layer('output.dense.weight'),
      shape: (c) => [c.width, c.feedForward],
    },
    downBias: {
      gguf: 'blk.{i}.ffn_down.bias',
      huggingFace: layer('output.dense.bias'),
      shape: (c) => [c.width],
    },
    ffnNorm: {
      gguf: 'blk.{i}.layer_output_norm.weight',
      huggingFace: layer('output.LayerNorm.weight'),
      shape: (c) => [c.width],
    },
    ffnNormBias: {
      gguf: 'blk.{i}.layer_output_norm.bias',
      huggingFace: layer('output.LayerNorm.bias'),
      shape: (c) => [c.width],
    },
  },
} as const satisfies WeightTable<EncoderConfig>;
