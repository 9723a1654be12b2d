import type { Backend, Tensor, Weight } from '@quern/core';
import { limits } from '../config/decoder-config.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { cutRows, mapTensors } from '../weights/map-tensors.js';
import type { WeightFile } from '../weights/weight-file.js';
import type { LoadedWeights, WeightTable } from '../weights/weight-table.js';
import { encoderAttention } from './attention.js';
import { bertWeights } from './bert-weights.js';
import type { Encoder, EncoderArchitecture, EncoderBatch } from './encoder.js';
import {
  bertKeys,
  type EncoderKeys,
  encoderConfigFromGguf,
  encoderConfigFromHuggingFace,
} from './encoder-config.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { ggufParts } from './rename.js';

const layer = (part: string) => `encoder.layer.{i}.${part}`;
const { tokens, segments, norm, normBias } = bertWeights.model;
const { q, k, v, qBias, kBias, vBias, attnOutput, attnOutputBias, attnNorm, attnNormBias } =
  bertWeights.layer;

/** The parameters of Nomic's BERT: gated feed-forward, no position table, biases only in a few files. */
export const nomicBertWeights = {
  model: { tokens, segments, norm, normBias },
  layer: {
    q,
    k,
    v,
    attnOutput,
    qBias: { ...qBias, optional: true },
    kBias: { ...kBias, optional: true },
    vBias: { ...vBias, optional: true },
    attnOutputBias: { ...attnOutputBias, optional: true },
    attnNorm,
    attnNormBias,
    gate: {
      gguf: 'blk.{i}.ffn_gate.weight',
      huggingFace: layer('mlp.gate.weight'),
      shape: (c) => [c.feedForward, c.width],
    },
    up: {
      gguf: 'blk.{i}.ffn_up.weight',
      huggingFace: layer('mlp.up.weight'),
      shape: (c) => [c.feedForward, c.width],
    },
    down: {
      gguf: 'blk.{i}.ffn_down.weight',
      huggingFace: layer('mlp.down.weight'),
      shape: (c) => [c.width, c.feedForward],
    },
    ffnNorm: { ...bertWeights.layer.ffnNorm, huggingFace: layer('mlp.LayerNorm.weight') },
    ffnNormBias: { ...bertWeights.layer.ffnNormBias, huggingFace: layer('mlp.LayerNorm.bias') },
  },
} as const satisfies WeightTable<EncoderConfig>;

/** Tensor names of Nomic's class, tried in this order, and their names here. */
const ownNames: readonly (readonly [RegExp, string])[] = [
  [/^emb_ln\./, 'embeddings.LayerNorm.'],
  [/^encoder\.layers\.(\d+)\.attn\.out_proj\./, 'encoder.layer.$1.attention.output.dense.'],
  [/^encoder\.layers\.(\d+)\.norm1\./, 'encoder.layer.$1.attention.output.LayerNorm.'],
  [/^encoder\.layers\.(\d+)\.norm2\./, 'encoder.layer.$1.mlp.LayerNorm.'],
  [/^encoder\.layers\.(\d+)\.mlp\.fc11\./, 'encoder.layer.$1.mlp.up.'],
  [/^encoder\.layers\.(\d+)\.mlp\.fc12\./, 'encoder.layer.$1.mlp.gate.'],
  [/^encoder\.layers\.(\d+)\.mlp\.fc2\./, 'encoder.layer.$1.mlp.down.'],
];

/** Splits the fused q, k and v. */
function renameTensor(tensor: FileTensor): readonly FileTensor[] {
  const own = /^encoder\.layers\.(\d+)\.attn\.Wqkv\.(weight|bias)$/.exec(tensor.name);
  if (own)
    return cutRows(
      tensor,
      ['query', 'key', 'value'].map((part) => `encoder.layer.${own[1]}.attention.self.${part}.${own[2]}`),
    );
  const rule = ownNames.find(([pattern]) => pattern.test(tensor.name));
  return [rule ? { ...tensor, name: tensor.name.replace(...rule) } : tensor];
}

/** Keys of Nomic's class. */
const ownKeys: EncoderKeys = {
  width: 'n_embd',
  layers: 'n_layer',
  heads: 'n_head',
  feedForward: 'n_inner',
  context: 'n_positions',
  normEps: 'layer_norm_epsilon',
  theta: 'rotary_emb_base',
};

function configFromHuggingFace(source: HuggingFaceSource): EncoderConfig {
  const { settings } = source;
  const own = settings.has('n_embd');
  const activation = own ? 'activation_function' : 'hidden_act';
  if (!['swiglu', 'silu'].includes(settings.text(activation, 'swiglu')))
    settings.refuse(activation, 'the feed-forward supports swiglu only');
  if (settings.flag('prenorm')) settings.refuse('prenorm', 'norms come after attention and feed-forward');
  if (settings.flag('rotary_emb_interleaved'))
    settings.refuse('rotary_emb_interleaved', 'halves of heads are rotated');
  if (settings.has('rotary_emb_fraction') && settings.positive('rotary_emb_fraction') !== 1)
    settings.refuse('rotary_emb_fraction', 'whole heads are rotated');
  const config = encoderConfigFromHuggingFace(source, own ? ownKeys : bertKeys, 0);
  const trained = settings.whole('max_trained_positions', limits.context, config.context);
  return { ...config, context: Math.min(config.context, trained) };
}

/** Nomic's BERT (Nussbaum et al. 2024): rotary positions and a gated feed-forward. */
export const nomicBert: EncoderArchitecture = {
  kind: 'encoder',
  name: 'nomic-bert',
  names: { gguf: ['nomic-bert'], huggingFace: ['NomicBertModel', 'NomicBertForPreTraining', 'nomic_bert'] },
  weights: nomicBertWeights,
  gguf: { name: 'nomic-bert' },
  rename: (file: WeightFile) => mapTensors(file, file.naming === 'gguf' ? ggufParts : renameTensor),
  configFromGguf: encoderConfigFromGguf,
  configFromHuggingFace,
  build: nomicBertEncoder,
};

function nomicBertEncoder(
  b: Backend,
  w: LoadedWeights<typeof nomicBertWeights>,
  config: EncoderConfig,
): Encoder {
  const project = projection(b);
  const attention = encoderAttention(b, config);
  const norm = (x: Tensor, weight: Weight, bias: Weight) =>
    b.layerNorm(x, weight, bias, { eps: config.normEps });

  return {
    hidden(ids: Tensor, batch: EncoderBatch): Tensor {
      let x = b.embed(w.tokens, ids); // [T, D]
      if (w.segments) x = b.add(x, b.embed(w.segments, batch.segments)); // [T, D]
      x = norm(x, w.norm, w.normBias);
      for (const layer of w.layers) {
        x = norm(b.add(x, attention(x, layer, batch)), layer.attnNorm, layer.attnNormBias); // [T, D]
        const gated = b.swiglu(project(x, layer.gate), project(x, layer.up)); // [T, F]
        x = norm(b.add(x, project(gated, layer.down)), layer.ffnNorm, layer.ffnNormBias); // [T, D]
      }
      return x;
    },
  };
}
