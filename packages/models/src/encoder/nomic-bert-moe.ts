import type { Backend, Tensor, Weight } from '@quern/core';
import { expertRows, route } from '../blocks/mixture.js';
import { limits, type MixtureConfig } from '../config/decoder-config.js';
import type { GgufSource } from '../config/gguf.js';
import { ModelError } from '../error.js';
import type { LoadedWeights, WeightEntry, WeightTable } from '../weights/weight-table.js';
import { encoderAttention } from './attention.js';
import { bertWeights } from './bert-weights.js';
import type { Encoder, EncoderArchitecture, EncoderBatch } from './encoder.js';
import { encoderConfigFromGguf } from './encoder-config.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { renameBert } from './rename.js';

const { tokens, segments, norm, normBias } = bertWeights.model;
const { up, upBias, down, downBias, ...shared } = bertWeights.layer;
type Entry = WeightEntry<EncoderConfig>;

const isSparse = ({ mixture }: EncoderConfig, layer: number): boolean => mixture?.sparse[layer] ?? false;
const inDense = { when: (c: EncoderConfig, layer: number) => !isSparse(c, layer) };

/** A tensor of the layers with experts. */
const inSparse = (name: string, shape: (c: EncoderConfig, experts: number) => readonly number[]) =>
  ({
    gguf: `blk.{i}.${name}.weight`,
    huggingFace: `encoder.layer.{i}.mlp.${name}`,
    shape: (c) => shape(c, c.mixture?.experts ?? 0),
    when: isSparse,
    used: ({ mixture }) => (mixture ? mixture.chosen / mixture.experts : 1),
  }) as const satisfies Entry;

/** BERT's parameters without positions; every second layer has experts instead of one feed-forward. */
const nomicBertMoeWeights = {
  model: { tokens, segments, norm, normBias },
  layer: {
    ...shared,
    up: { ...up, ...inDense },
    upBias: { ...upBias, ...inDense },
    down: { ...down, ...inDense },
    downBias: { ...downBias, ...inDense },
    router: { ...inSparse('ffn_gate_inp', (c, E) => [E, c.width]), used: () => 1 },
    upExperts: inSparse('ffn_up_exps', (c, E) => [E, c.feedForward, c.width]),
    downExperts: inSparse('ffn_down_exps', (c, E) => [E, c.width, c.feedForward]),
  },
} as const satisfies WeightTable<EncoderConfig>;

/** Nomic's multilingual BERT with experts (Nussbaum & Duderstadt 2025), in GGUF files. */
export const nomicBertMoe: EncoderArchitecture = {
  kind: 'encoder',
  name: 'nomic-bert-moe',
  names: { gguf: ['nomic-bert-moe'], huggingFace: [] },
  weights: nomicBertMoeWeights,
  rename: renameBert,
  configFromGguf,
  configFromHuggingFace({ settings }) {
    throw new ModelError('UNSUPPORTED_CONFIG', `${settings.path}: its experts are read from GGUF files only`);
  },
  build: nomicBertMoeEncoder,
};

function configFromGguf(source: GgufSource): EncoderConfig {
  const { settings } = source;
  const config = encoderConfigFromGguf(source);
  const every = settings.whole('moe_every_n_layers', limits.layers);
  const experts = settings.whole('expert_count', limits.experts);
  const mixture: MixtureConfig = {
    experts,
    chosen: settings.whole('expert_used_count', experts),
    renormalise: false,
    feedForward: config.feedForward,
    sparse: Array.from({ length: config.layers }, (_, i) => i % every === 1),
  };
  return { ...config, mixture };
}

function nomicBertMoeEncoder(
  b: Backend,
  w: LoadedWeights<typeof nomicBertMoeWeights>,
  config: EncoderConfig,
): Encoder {
  const project = projection(b);
  const attention = encoderAttention(b, config);
  const normed = (x: Tensor, weight: Weight, bias: Weight) =>
    b.layerNorm(x, weight, bias, { eps: config.normEps });
  const gelu = (x: Tensor) => b.gelu(x, { form: config.gelu });

  const dense = (x: Tensor, layer: (typeof w.layers)[number]): Tensor =>
    project(gelu(project(x, layer.up!, layer.upBias)), layer.down!, layer.downBias); // [T, D]

  const mixture = (x: Tensor, layer: (typeof w.layers)[number]): Tensor => {
    const [T, D] = x.shape as [number, number];
    const { chosen } = config.mixture!;
    const { ids, weights } = route(b, project(x, layer.router!), config.mixture!); // [T, k] both
    const inner = gelu(expertRows(b, x, ids, layer.upExperts!)); // [T · k, F]
    const outputs = expertRows(b, inner, b.view(ids, [T * chosen, 1]), layer.downExperts!); // [T · k, D]
    return b.weightedSum(b.view(outputs, [T, chosen, D]), weights); // [T, D]
  };

  return {
    hidden(ids: Tensor, batch: EncoderBatch): Tensor {
      let x = b.embed(w.tokens, ids); // [T, D]
      if (w.segments) x = b.add(x, b.embed(w.segments, batch.segments)); // [T, D]
      x = normed(x, w.norm, w.normBias);
      for (const layer of w.layers) {
        x = normed(b.add(x, attention(x, layer, batch)), layer.attnNorm, layer.attnNormBias); // [T, D]
        const y = layer.router ? mixture(x, layer) : dense(x, layer); // [T, D]
        x = normed(b.add(x, y), layer.ffnNorm, layer.ffnNormBias); // [T, D]
      }
      return x;
    },
  };
}
