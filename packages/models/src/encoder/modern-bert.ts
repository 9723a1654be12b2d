import type { Backend, Tensor, Weight } from '@quern/core';
import { limits } from '../config/decoder-config.js';
import { readGelu } from '../config/gelu.js';
import type { GgufSource } from '../config/gguf.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import type { FileTensor } from '../weights/file-tensor.js';
import { cutRows, mapTensors } from '../weights/map-tensors.js';
import type { WeightFile } from '../weights/weight-file.js';
import type { LoadedWeights } from '../weights/weight-table.js';
import { encoderAttention } from './attention.js';
import type { Encoder, EncoderArchitecture } from './encoder.js';
import { bertKeys, encoderConfigFromGguf, encoderConfigFromHuggingFace } from './encoder-config.js';
import type { EncoderConfig } from './encoder-parameters.js';
import { modernBertWeights } from './modern-bert-weights.js';
import { projection } from './projection.js';
import { ggufParts } from './rename.js';

/** ModernBERT (Warner et al. 2024): pre-norm, rotary positions, gated feed-forward; most layers see a window to both sides. */
export const modernBert: EncoderArchitecture = {
  kind: 'encoder',
  name: 'modern-bert',
  names: {
    gguf: ['modern-bert'],
    huggingFace: [
      'ModernBertModel',
      'ModernBertForMaskedLM',
      'ModernBertForSequenceClassification',
      'modernbert',
    ],
  },
  weights: modernBertWeights,
  rename: (file: WeightFile) => mapTensors(file, file.naming === 'gguf' ? ggufTensors : renameTensor),
  configFromGguf,
  configFromHuggingFace,
  build: modernBertEncoder,
};

/** Gate and up are one tensor; also q, k and v. */
function ggufTensors(tensor: FileTensor): readonly FileTensor[] {
  const up = /^(blk\.\d+\.ffn_)up\.weight$/.exec(tensor.name);
  return up ? cutRows(tensor, [`${up[1]}gate.weight`, `${up[1]}up.weight`]) : ggufParts(tensor);
}

function renameTensor(tensor: FileTensor): readonly FileTensor[] {
  const name = tensor.name.replace(/^model\./, '');
  const part = /^(.*\.(?:Wqkv|Wi))\.weight$/.exec(name)?.[1];
  const halves = part?.endsWith('.Wi') ? ['gate', 'up'] : ['q', 'k', 'v'];
  return part
    ? cutRows(
        tensor,
        halves.map((half) => `${part}.${half}.weight`),
      )
    : [{ ...tensor, name }];
}

/** Every n-th layer, the first one included, sees the whole text. */
const windowsOf = (layers: number, period: number, window: number): number[] =>
  Array.from({ length: layers }, (_, i) => (i % period === 0 ? 0 : window));

function configFromGguf(source: GgufSource): EncoderConfig {
  const { settings } = source;
  const config = encoderConfigFromGguf(source);
  const window = settings.whole('attention.sliding_window', limits.context);
  const period = settings.whole('attention.sliding_window_pattern', limits.layers, 3);
  return {
    ...config,
    windows: windowsOf(config.layers, period, window),
    windowRope: { ...config.rope, theta: settings.positive('rope.freq_base_swa', config.rope.theta) },
  };
}

const keys = { ...bertKeys, normEps: 'norm_eps', theta: 'global_rope_theta' };

function configFromHuggingFace(source: HuggingFaceSource): EncoderConfig {
  const settings = source.settings.withDefaults({ norm_eps: 1e-5, global_rope_theta: 160_000 });
  const config = encoderConfigFromHuggingFace({ ...source, settings }, keys, 0);
  const kinds = settings.section('rope_parameters'); // newer files
  const thetaOf = (kind: string, key: string, otherwise: number) =>
    kinds?.section(kind)?.positive('rope_theta') ?? settings.positive(key, otherwise);
  const window = settings.whole('local_attention', limits.context, 128);
  const period = settings.whole('global_attn_every_n_layers', limits.layers, 3);
  return {
    ...config,
    gelu: readGelu(settings, 'hidden_activation', 'gelu'),
    rope: { ...config.rope, theta: thetaOf('full_attention', 'global_rope_theta', 160_000) },
    windowRope: { ...config.rope, theta: thetaOf('sliding_attention', 'local_rope_theta', 10_000) },
    windows: windowsOf(config.layers, period, window),
    labelPooling: settings.text('classifier_pooling', 'cls') === 'mean' ? 'mean' : 'cls',
  };
}

function modernBertEncoder(
  b: Backend,
  w: LoadedWeights<typeof modernBertWeights>,
  config: EncoderConfig,
): Encoder {
  const project = projection(b);
  const gelu = (x: Tensor) => b.gelu(x, { form: config.gelu });
  const norm = (x: Tensor, weight: Weight, bias: Weight) =>
    b.layerNorm(x, weight, bias, { eps: config.normEps });
  const attentions = w.layers.map((_, i) => encoderAttention(b, config, i));
  const { head, classifier } = w;
  return {
    hidden(ids, batch) {
      let x = norm(b.embed(w.tokens, ids), w.norm, w.normBias); // [T, D]
      for (const [i, layer] of w.layers.entries()) {
        const read = layer.attnNorm ? norm(x, layer.attnNorm, layer.attnNormBias!) : x; // [T, D]
        x = b.add(x, attentions[i]!(read, layer, batch)); // [T, D]
        const normed = norm(x, layer.ffnNorm, layer.ffnNormBias); // [T, D]
        const gated = b.mul(gelu(project(normed, layer.gate)), project(normed, layer.up)); // [T, F]
        x = b.add(x, project(gated, layer.down)); // [T, D]
      }
      return norm(x, w.outputNorm, w.outputNormBias);
    },
    ...(classifier && {
      classify(x: Tensor): Tensor {
        const inner = head ? norm(gelu(project(x, head)), w.headNorm!, w.headNormBias!) : x; // [S, D]
        return project(inner, classifier, w.classifierBias); // [S, labels]
      },
    }),
  };
}
