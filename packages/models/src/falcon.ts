import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { geluFeedForward } from './blocks/feed-forward.js';
import { modelNorm } from './blocks/norm.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { fusedQkv, geluDiffers, renamedEnds, renamedEntry, rowsByGroup } from './gpt-weights.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaWeights } from './llama-weights.js';
import { mapTensors } from './weights/map-tensors.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const inLayer = (name: string) => `transformer.h.{i}.${name}`;
const norm = layerNormEntries('blk.{i}.attn_norm', inLayer('ln_mlp'));
const attnNorm = layerNormEntries('blk.{i}.attn_norm_2', inLayer('ln_attn'));
const when = ({ twoNorms }: DecoderConfig) => twoNorms === true;
const { attnOutput, up, down } = llamaWeights.layer;

/** `norm` is of the feed-forward, and of attention too where the layer has no `attnNorm`. No biases but those of norms. */
export const falconWeights = {
  model: { ...layerNormEnds('transformer.ln_f'), ...renamedEnds('transformer.word_embeddings.weight') },
  layer: {
    ...{ norm: norm.weight, normBias: norm.bias },
    ...{ attnNorm: { ...attnNorm.weight, when }, attnNormBias: { ...attnNorm.bias, when } },
    ...fusedQkv(inLayer('self_attention.query_key_value.weight'), { huggingFaceRows: rowsByGroup }),
    attnOutput: renamedEntry(attnOutput, inLayer('self_attention.dense.weight')),
    up: renamedEntry(up, inLayer('mlp.dense_h_to_4h.weight')),
    down: renamedEntry(down, inLayer('mlp.dense_4h_to_h.weight')),
  },
} as const satisfies WeightTable;

/** Falcon 7B, 40B, 180B and Falcon 2 (Almazrouei et al. 2023): attention and feed-forward side by side, few kv heads. */
export const falcon = {
  name: 'falcon',
  names: { gguf: ['falcon'], huggingFace: ['FalconForCausalLM', 'falcon'] },
  weights: falconWeights,
  rename: (file) =>
    mapTensors(file, (tensor) => [
      { ...tensor, name: tensor.name.replace('.input_layernorm.', '.ln_mlp.') }, // the only norm is both blocks'
    ]),
  gguf: {
    name: 'falcon',
    rope: 'halves',
    layerNorm: true,
    metadata: () => ({ tensor_data_layout: 'jploski' }), // all queries, all keys, all values
    llamaCppDiffers: geluDiffers,
  },
  configFromGguf: (source) => ({
    ...decoderConfigFromGguf(source, 'halves', { layerNorm: true }),
    ...{ parallel: true, twoNorms: source.weights.tensors.has('blk.0.attn_norm_2.weight') },
  }),
  configFromHuggingFace: ({ settings, ...source }) => {
    refuseOthers(settings);
    const known = usualKeys(settings);
    const config = decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, {
      epsilon: ['layer_norm_epsilon', 1e-5],
      gelu: ['activation', 'gelu'],
    });
    return { ...config, parallel: true, twoNorms: hasTwoNorms(known) };
  },
  build: falconDecoder,
} satisfies Architecture;

const isNew = (settings: Settings): boolean => settings.flag('new_decoder_architecture') ?? false;

/** Falcon 2 has one norm in the new form. */
const hasTwoNorms = (settings: Settings): boolean =>
  isNew(settings) && settings.whole('num_ln_in_parallel_attn', 2, 2) === 2;

function refuseOthers(settings: Settings): void {
  if (settings.flag('alibi')) settings.refuse('alibi', 'scores have no bias by distance (Falcon-RW)');
  if (settings.flag('bias')) settings.refuse('bias', 'the projections have no bias (Falcon-RW)');
  if (settings.flag('parallel_attn') === false)
    settings.refuse('parallel_attn', 'attention and feed-forward stand side by side');
}

/** FalconConfig's names → the usual ones. Outside of the new form, a model has one kv head or as many as heads. */
function usualKeys(settings: Settings): Settings {
  const known = settings.withDefaults({
    num_attention_heads: settings.raw('n_head'),
    num_hidden_layers: settings.raw('n_layer'),
    num_kv_heads: settings.raw('n_head_kv'),
  });
  const width = settings.whole('hidden_size', limits.width);
  const heads = known.whole('num_attention_heads', limits.heads);
  const ofOld = (settings.flag('multi_query') ?? true) ? 1 : heads;
  const kvHeads = isNew(settings) ? known.whole('num_kv_heads', limits.heads, heads) : ofOld;
  return known.withDefaults({ tie_word_embeddings: true }).replacing({
    num_key_value_heads: kvHeads,
    intermediate_size: settings.whole('ffn_hidden_size', limits.feedForward, 4 * width),
  });
}

function falconDecoder(b: Backend, w: LoadedWeights<typeof falconWeights>, config: DecoderConfig): Decoder {
  const attention = selfAttention(b, config);
  const feedForward = geluFeedForward(b, config.gelu ?? 'tanh');
  const normed = modelNorm(b, config);

  return {
    ...embedAndLogits(b, w, config),

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer = w.layers[i]!;
      const read = normed(x, layer.norm, layer.normBias); // [T, D]
      const attended = layer.attnNorm ? normed(x, layer.attnNorm, layer.attnNormBias) : read; // [T, D]
      const h = b.add(x, attention(attended, layer, i, batch, cache)); // [T, D]
      return b.add(h, feedForward(read, layer)); // [T, D]
    },
  };
}
