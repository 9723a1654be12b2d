import type { Backend } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf, type GgufRules, type GgufSource } from './config/gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { layerNormEnds, layerNormEntries } from './layer-norm-weights.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const { attnNorm: _attn, ffnNorm: _ffn, ...matrices } = llamaWeights.layer;
const ends = layerNormEnds();
const norm = layerNormEntries('blk.{i}.attn_norm', 'model.layers.{i}.input_layernorm');

/** Llama's matrices, with one LayerNorm per layer. LayerNorms have no bias. */
export const commandRWeights = {
  model: { ...ends, outputNormBias: { ...ends.outputNormBias, constant: () => 0 } },
  layer: { ...matrices, attnNorm: norm.weight, attnNormBias: { ...norm.bias, constant: () => 0 } },
} as const satisfies WeightTable;

/** How Cohere's models convert; neighbours rotate together in Hugging Face files too. */
export const cohereForm = {
  rope: 'kept',
  layerNorm: true,
  metadata: ({ logitFactor = 1 }: DecoderConfig): Readonly<Record<string, MetadataInput>> => ({
    logit_scale: { type: 'float32', value: logitFactor },
    'rope.scaling.type': 'none', // as llama.cpp's converter; a scaling replaces it
  }),
  llamaCppDiffers: ({ tied }: DecoderConfig) =>
    tied ? undefined : 'takes the embedding as the output projection',
} as const;

/** Command-R (Cohere 2024) and Aya 23: attention and feed-forward side by side after one LayerNorm. */
export const commandR = {
  name: 'command-r',
  names: { gguf: ['command-r'], huggingFace: ['CohereForCausalLM', 'cohere'] },
  weights: commandRWeights,
  gguf: { name: 'command-r', ...cohereForm },
  configFromGguf: cohereFromGguf,
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({ rope_theta: 500_000 }); // of CohereConfig
    const config = cohereFromHuggingFace({ ...source, settings: known }, noWindows);
    return { ...config, context: known.whole('model_max_length', limits.context, config.context) };
  },
  build: cohereDecoder,
} satisfies Architecture;

/** The configuration of Command-R or Command-R7B from GGUF metadata. */
export function cohereFromGguf(source: GgufSource, rules: GgufRules = {}): DecoderConfig {
  const { settings, weights } = source;
  if (weights.tensors.has('blk.0.attn_q_norm.weight')) settings.refuse('block_count', normedHeads);
  const config = decoderConfigFromGguf(source, 'interleaved', { ...rules, layerNorm: true });
  const isOff = settings.number('logit_scale') === 0;
  return { ...config, logitFactor: isOff ? 1 : settings.positive('logit_scale') };
}

/** The configuration of Command-R or Command-R7B from config.json. */
export function cohereFromHuggingFace(
  { settings, ...source }: HuggingFaceSource,
  windows: (settings: Settings, layers: number) => readonly number[],
): DecoderConfig {
  const known = settings.withDefaults(defaults);
  if (known.flag('use_qk_norm')) known.refuse('use_qk_norm', normedHeads);
  const config = decoderConfigFromHuggingFace({ ...source, settings: known }, windows, {
    layout: 'interleaved',
    epsilon: ['layer_norm_eps', 1e-5],
  });
  return { ...config, logitFactor: known.positive('logit_scale') };
}

/** Of transformers' CohereConfig and Cohere2Config. */
const defaults = { logit_scale: 0.0625, max_position_embeddings: 8192, tie_word_embeddings: true };

const normedHeads = 'heads of q and k have LayerNorms of their own (Command-R+)';

export function cohereDecoder(
  b: Backend,
  w: LoadedWeights<typeof commandRWeights>,
  config: DecoderConfig,
): Decoder {
  const blocks = { attention: selfAttention(b, config), feedForward: swigluFeedForward(b) };
  const { embed, norm, logits } = embedAndLogits(b, w, config);
  return {
    embed,
    norm,
    layer: preNormLayer(b, w, config, blocks),
    logits: (x) => b.scale(logits(x), config.logitFactor ?? 1), // [R, V]
  };
}
