import type { WeightEntry, WeightTable } from '../weights/weight-table.js';
import { bertWeights } from './bert-weights.js';
import type { EncoderConfig } from './encoder-parameters.js';

type Entry = WeightEntry<EncoderConfig>;

const { tokens, classifier, classifierBias } = bertWeights.model;

const matrix = (gguf: string, huggingFace: string, shape: Entry['shape']) =>
  ({
    gguf: `blk.{i}.${gguf}.weight`,
    huggingFace: `layers.{i}.${huggingFace}.weight`,
    shape,
  }) satisfies Entry;

/** Weight and bias of a LayerNorm; the bias is 0. */
const norm = (gguf: string, huggingFace: string) => {
  const shape = (c: EncoderConfig) => [c.width];
  return {
    weight: { gguf: `${gguf}.weight`, huggingFace: `${huggingFace}.weight`, shape },
    bias: { gguf: `${gguf}.bias`, huggingFace: `${huggingFace}.bias`, shape, constant: () => 0 },
  } as const satisfies Record<string, Entry>;
};

const ends = {
  embedding: norm('token_embd_norm', 'embeddings.norm'),
  output: norm('output_norm', 'final_norm'),
  head: norm('cls.norm', 'head.norm'),
  attention: norm('blk.{i}.attn_norm', 'layers.{i}.attn_norm'),
  feedForward: norm('blk.{i}.ffn_norm', 'layers.{i}.mlp_norm'),
};

const ranks = { when: (c: EncoderConfig) => c.labels > 0 };
const notFirst = { when: (_: EncoderConfig, layer: number) => layer > 0 };

/** The parameters of ModernBERT: no biases; the norm of the embedding is that of the first attention. */
export const modernBertWeights = {
  model: {
    tokens: { ...tokens, huggingFace: 'embeddings.tok_embeddings.weight' },
    norm: ends.embedding.weight,
    normBias: ends.embedding.bias,
    outputNorm: ends.output.weight,
    outputNormBias: ends.output.bias,
    head: {
      gguf: 'cls.weight',
      huggingFace: 'head.dense.weight',
      shape: (c) => [c.width, c.width],
      ...ranks,
    },
    headNorm: { ...ends.head.weight, ...ranks },
    headNormBias: { ...ends.head.bias, ...ranks },
    classifier,
    classifierBias,
  },
  layer: {
    attnNorm: { ...ends.attention.weight, ...notFirst },
    attnNormBias: { ...ends.attention.bias, ...notFirst },
    q: matrix('attn_q', 'attn.Wqkv.q', (c) => [c.width, c.width]),
    k: matrix('attn_k', 'attn.Wqkv.k', (c) => [c.width, c.width]),
    v: matrix('attn_v', 'attn.Wqkv.v', (c) => [c.width, c.width]),
    attnOutput: matrix('attn_output', 'attn.Wo', (c) => [c.width, c.width]),
    ffnNorm: ends.feedForward.weight,
    ffnNormBias: ends.feedForward.bias,
    gate: matrix('ffn_gate', 'mlp.Wi.gate', (c) => [c.feedForward, c.width]),
    up: matrix('ffn_up', 'mlp.Wi.up', (c) => [c.feedForward, c.width]),
    down: matrix('ffn_down', 'mlp.Wo', (c) => [c.width, c.feedForward]),
  },
} as const satisfies WeightTable<EncoderConfig>;
