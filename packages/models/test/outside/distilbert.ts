import type { Backend, Tensor, Weight } from '@quern/core';
import {
  bertKeys,
  bertWeights,
  type Encoder,
  type EncoderArchitecture,
  type EncoderBatch,
  type EncoderConfig,
  encoderAttention,
  encoderConfigFromGguf,
  encoderConfigFromHuggingFace,
  type LoadedWeights,
  mapTensors,
  projection,
  type WeightTable,
} from '@quern/models';

const { tokens, positions, norm, normBias } = bertWeights.model;

/** BERT's parameters, without segments, pooler and classifier. */
export const distilbertWeights = {
  model: { tokens, positions, norm, normBias },
  layer: bertWeights.layer,
} as const satisfies WeightTable<EncoderConfig>;

/** DistilBERT's names, and BERT's: those of the table. */
const names: readonly (readonly [RegExp, string])[] = [
  [/^distilbert\./, ''],
  [/^transformer\.layer\./, 'encoder.layer.'],
  [/\.attention\.q_lin\./, '.attention.self.query.'],
  [/\.attention\.k_lin\./, '.attention.self.key.'],
  [/\.attention\.v_lin\./, '.attention.self.value.'],
  [/\.attention\.out_lin\./, '.attention.output.dense.'],
  [/\.sa_layer_norm\./, '.attention.output.LayerNorm.'],
  [/\.ffn\.lin1\./, '.intermediate.dense.'],
  [/\.ffn\.lin2\./, '.output.dense.'],
  [/\.output_layer_norm\./, '.output.LayerNorm.'],
];
const bertNameOf = (name: string): string =>
  names.reduce((known, [pattern, to]) => known.replace(pattern, to), name);

/** DistilBERT (Sanh et al. 2019), bare: BERT without segments, in half as many layers. */
export const distilbert = {
  kind: 'encoder',
  name: 'distilbert',
  names: { gguf: [], huggingFace: ['DistilBertModel', 'DistilBertForMaskedLM', 'distilbert'] },
  weights: distilbertWeights,
  gguf: { name: 'bert' }, // llama.cpp converts it to BERT
  rename: (file) => mapTensors(file, (tensor) => [{ ...tensor, name: bertNameOf(tensor.name) }]),
  configFromGguf: encoderConfigFromGguf,
  configFromHuggingFace(source) {
    const { settings } = source;
    if (settings.text('activation', 'gelu') !== 'gelu')
      settings.refuse('activation', 'only gelu is supported');
    const keys = {
      ...bertKeys,
      width: 'dim',
      layers: 'n_layers',
      heads: 'n_heads',
      feedForward: 'hidden_dim',
    };
    return encoderConfigFromHuggingFace(source, keys, 0); // a text's first token has row 0 of the position table
  },
  build: distilbertEncoder,
} satisfies EncoderArchitecture;

function distilbertEncoder(
  b: Backend,
  w: LoadedWeights<typeof distilbertWeights>,
  config: EncoderConfig,
): Encoder {
  const project = projection(b);
  const attention = encoderAttention(b, config);
  const normed = (x: Tensor, weight: Weight, bias: Weight) =>
    b.layerNorm(x, weight, bias, { eps: config.normEps });

  return {
    hidden(ids: Tensor, batch: EncoderBatch): Tensor {
      let x = b.add(b.embed(w.tokens, ids), b.embed(w.positions, batch.positions)); // [T, D]
      x = normed(x, w.norm, w.normBias);
      for (const layer of w.layers) {
        x = normed(b.add(x, attention(x, layer, batch)), layer.attnNorm, layer.attnNormBias); // [T, D]
        const up = b.gelu(project(x, layer.up, layer.upBias), { form: config.gelu }); // [T, F]
        x = normed(b.add(x, project(up, layer.down, layer.downBias)), layer.ffnNorm, layer.ffnNormBias); // [T, D]
      }
      return x;
    },
  };
}
