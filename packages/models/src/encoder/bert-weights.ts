import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import type { EncoderConfig } from './encoder-parameters.js';

type Shape = WeightEntry<EncoderConfig>['shape'];

const byIndex = () => ['embed'] as const;
const wide: Shape = (c) => [c.width];
const square: Shape = (c) => [c.width, c.width];

/** A parameter of the whole model. */
const entry = (gguf: string, huggingFace: string, shape: Shape) => ({ gguf, huggingFace, shape });

/** A parameter of every layer. */
const inLayer = (gguf: string, huggingFace: string, shape: Shape) =>
  entry(`blk.{i}.${gguf}`, `encoder.layer.{i}.${huggingFace}`, shape);

const optional = { optional: true } as const;

/**
 * The parameters of BERT, and of RoBERTa under BERT's names. Embedding models lack the classifier and often the pooler.
 */
export const bertWeights = {
  model: {
    tokens: {
      ...entry('token_embd.weight', 'embeddings.word_embeddings.weight', (c) => [c.vocabulary, c.width]),
      uses: byIndex,
    },
    positions: {
      ...entry('position_embd.weight', 'embeddings.position_embeddings.weight', (c) => [
        c.positions,
        c.width,
      ]),
      uses: byIndex,
    },
    segments: {
      ...entry('token_types.weight', 'embeddings.token_type_embeddings.weight', (c) => [c.segments, c.width]),
      uses: byIndex,
      when: (c: EncoderConfig) => c.segments > 0,
    },
    norm: entry('token_embd_norm.weight', 'embeddings.LayerNorm.weight', wide),
    normBias: entry('token_embd_norm.bias', 'embeddings.LayerNorm.bias', wide),
    pooler: { ...entry('cls.weight', 'pooler.dense.weight', square), ...optional },
    poolerBias: { ...entry('cls.bias', 'pooler.dense.bias', wide), ...optional },
    classifier: {
      ...entry('cls.output.weight', 'classifier.weight', (c) => [c.labels, c.width]),
      when: (c: EncoderConfig) => c.labels > 0,
    },
    classifierBias: { ...entry('cls.output.bias', 'classifier.bias', (c) => [c.labels]), ...optional },
  },
  layer: {
    q: inLayer('attn_q.weight', 'attention.self.query.weight', square),
    qBias: inLayer('attn_q.bias', 'attention.self.query.bias', wide),
    k: inLayer('attn_k.weight', 'attention.self.key.weight', square),
    kBias: inLayer('attn_k.bias', 'attention.self.key.bias', wide),
    v: inLayer('attn_v.weight', 'attention.self.value.weight', square),
    vBias: inLayer('attn_v.bias', 'attention.self.value.bias', wide),
    attnOutput: inLayer('attn_output.weight', 'attention.output.dense.weight', square),
    attnOutputBias: inLayer('attn_output.bias', 'attention.output.dense.bias', wide),
    attnNorm: inLayer('attn_output_norm.weight', 'attention.output.LayerNorm.weight', wide),
    attnNormBias: inLayer('attn_output_norm.bias', 'attention.output.LayerNorm.bias', wide),
    up: inLayer('ffn_up.weight', 'intermediate.dense.weight', (c) => [c.feedForward, c.width]),
    upBias: inLayer('ffn_up.bias', 'intermediate.dense.bias', (c) => [c.feedForward]),
    down: inLayer('ffn_down.weight', 'output.dense.weight', (c) => [c.width, c.feedForward]),
    downBias: inLayer('ffn_down.bias', 'output.dense.bias', wide),
    ffnNorm: inLayer('layer_output_norm.weight', 'output.LayerNorm.weight', wide),
    ffnNormBias: inLayer('layer_output_norm.bias', 'output.LayerNorm.bias', wide),
  },
} as const satisfies WeightTable<EncoderConfig>;
