import type { Backend, Tensor, Weight } from '@quern/core';
import { readGelu } from '../config/gelu.js';
import type { LoadedWeights } from '../weights/weight-table.js';
import { encoderAttention } from './attention.js';
import { bertWeights } from './bert-weights.js';
import type { Encoder, EncoderArchitecture, EncoderBatch } from './encoder.js';
import { bertKeys, encoderConfigFromGguf, encoderConfigFromHuggingFace } from './encoder-config.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { projection } from './projection.js';
import { renameBert } from './rename.js';

/**
 * BERT (Devlin et al. 2019): bare, masked or classifier. Also GGUF files of RoBERTa: their position table starts at the
 * first used row.
 */
export const bert: EncoderArchitecture = {
  kind: 'encoder',
  name: 'bert',
  names: {
    gguf: ['bert'],
    huggingFace: ['BertModel', 'BertForMaskedLM', 'BertForSequenceClassification', 'bert'],
  },
  weights: bertWeights,
  gguf: { name: 'bert' },
  rename: renameBert,
  configFromGguf: encoderConfigFromGguf,
  configFromHuggingFace(source) {
    const { settings } = source;
    if (settings.text('position_embedding_type', 'absolute') !== 'absolute')
      settings.refuse('position_embedding_type', 'only a table of absolute positions is supported');
    return { ...encoderConfigFromHuggingFace(source, bertKeys, 0), gelu: readGelu(settings) };
  },
  build: bertEncoder,
};

type AllWeights = LoadedWeights<typeof bertWeights>;

/** Without a table of positions, q and k are rotated. */
type BertWeights = Omit<AllWeights, 'positions'> & Partial<Pick<AllWeights, 'positions'>>;

/** BERT's forward pass, post-norm: x = norm(x + block(x)) for attention and feed-forward. */
export function bertEncoder(b: Backend, w: BertWeights, config: EncoderConfig): Encoder {
  const project = projection(b);
  const attention = encoderAttention(b, config);
  const norm = (x: Tensor, weight: Weight, bias: Weight) =>
    b.layerNorm(x, weight, bias, { eps: config.normEps });
  const { classifier, pooler } = w;

  return {
    hidden(ids: Tensor, { positions, segments, cuSeqlens }: EncoderBatch): Tensor {
      let x = b.embed(w.tokens, ids); // [T, D]
      if (w.positions) x = b.add(x, b.embed(w.positions, positions)); // [T, D]
      if (w.segments) x = b.add(x, b.embed(w.segments, segments)); // [T, D]
      x = norm(x, w.norm, w.normBias);
      for (const layer of w.layers) {
        const attended = attention(x, layer, { positions, segments, cuSeqlens });
        x = norm(b.add(x, attended), layer.attnNorm, layer.attnNormBias); // [T, D]
        const up = b.gelu(project(x, layer.up, layer.upBias), { form: config.gelu }); // [T, F]
        const down = project(up, layer.down, layer.downBias); // [T, D]
        x = norm(b.add(x, down), layer.ffnNorm, layer.ffnNormBias); // [T, D]
      }
      return x;
    },

    ...(classifier && {
      classify(x: Tensor): Tensor {
        const pooled = pooler ? b.tanh(project(x, pooler, w.poolerBias)) : x; // [S, D]
        return project(pooled, classifier, w.classifierBias); // [S, labels]
      },
    }),
  };
}
