import type { Pooling } from '@quern/core';
import { limits } from '../config/decoder-config.js';
import type { GgufSource } from '../config/gguf.js';
import type { HuggingFaceSource } from '../config/hugging-face.js';
import type { Settings } from '../config/settings.js';
import type { WeightFile } from '../weights/weight-file.js';
import type { EncoderConfig } from './encoder-parameters.js';

const rows = (weights: WeightFile, name: string): number => weights.tensors.get(name)?.shape[0] ?? 0;

function headDim(settings: Settings, key: string, width: number): { heads: number; headDim: number } {
  const heads = settings.whole(key, limits.heads);
  if (width % heads !== 0) settings.fail(key, `a divisor of the width ${width}`);
  return { heads, headDim: width / heads };
}

/** Rows of an optional table; 0: absent. Checked against `most`. */
function tableRows(settings: Settings, key: string, weights: WeightFile, name: string, most: number): number {
  const found = rows(weights, name);
  if (found > most) settings.fail(key, `at most ${most} rows in ${name}; it has ${found}`);
  return found;
}

/** llama.cpp's numbers for pooling; `rank` marks classifiers, which take the first row. */
export const ggufPoolings = { none: 0, mean: 1, cls: 2, last: 3, rank: 4 } as const;

const poolingOf: readonly Pooling[] = ['mean', 'mean', 'cls', 'last']; // index: the numbers above

/** @param rank the pooling of classifiers */
export const ggufPooling = (settings: Settings, rank: Pooling): Pooling =>
  poolingOf[settings.whole('pooling_type', ggufPoolings.rank, ggufPoolings.mean, 0)] ?? rank;

/**
 * The configuration of an encoder from GGUF metadata (llama.cpp's keys). Default pooling: mean. Pooling `rank`: the
 * first row.
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function encoderConfigFromGguf({ settings, weights, tokens }: GgufSource): EncoderConfig {
  if (settings.flag('attention.causal'))
    settings.refuse('attention.causal', 'encoders see every token of a text');
  const width = settings.whole('embedding_length', limits.width);
  const { heads, headDim: d } = headDim(settings, 'attention.head_count', width);
  const context = settings.whole('context_length', limits.context);
  const positions = tableRows(settings, 'context_length', weights, 'position_embd.weight', limits.context);
  return {
    layers: settings.whole('block_count', limits.layers),
    width,
    heads,
    headDim: d,
    feedForward: settings.whole('feed_forward_length', limits.feedForward),
    vocabulary: rows(weights, 'token_embd.weight') || Math.max(1, tokens),
    segments: tableRows(settings, 'context_length', weights, 'token_types.weight', limits.width),
    positions,
    firstPosition: 0,
    rope: { theta: settings.positive('rope.freq_base', 10_000), layout: 'halves' },
    gelu: 'erf',
    normEps: settings.positive('attention.layer_norm_epsilon'),
    context: positions > 0 ? Math.min(context, positions) : context,
    pooling: ggufPooling(settings, 'cls'),
    normalise: true,
    labels: tableRows(settings, 'pooling_type', weights, 'cls.output.weight', limits.width),
  };
}

/** config.json keys that differ among families. */
export interface EncoderKeys {
  readonly width: string;
  readonly layers: string;
  readonly heads: string;
  readonly feedForward: string;
  readonly context: string;
  readonly normEps: string;
  readonly theta: string;
}

/** Keys of BERT's class. */
export const bertKeys: EncoderKeys = {
  width: 'hidden_size',
  layers: 'num_hidden_layers',
  heads: 'num_attention_heads',
  feedForward: 'intermediate_size',
  context: 'max_position_embeddings',
  normEps: 'layer_norm_eps',
  theta: 'rope_theta',
};

/**
 * The configuration of an encoder from config.json. Absent settings take the defaults of transformers' classes.
 * @param firstPosition row of the position table for a text's first token
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function encoderConfigFromHuggingFace(
  { settings, weights, embedding }: HuggingFaceSource,
  keys: EncoderKeys,
  firstPosition: number,
): EncoderConfig {
  const width = settings.whole(keys.width, limits.width);
  const { heads, headDim: d } = headDim(settings, keys.heads, width);
  const table = 'embeddings.position_embeddings.weight';
  const positions = tableRows(settings, keys.context, weights, table, limits.context);
  const trained = settings.whole(keys.context, limits.context, 512);
  const room = positions > 0 ? Math.min(trained, positions) - firstPosition : trained;
  if (room < 1) settings.fail(keys.context, `more than the ${firstPosition} unused positions`);
  const { pooling = 'mean', normalise = true, maxTokens = room } = embedding ?? {};
  return {
    layers: settings.whole(keys.layers, limits.layers),
    width,
    heads,
    headDim: d,
    feedForward: settings.whole(keys.feedForward, limits.feedForward),
    vocabulary: settings.whole('vocab_size', limits.vocabulary),
    segments: tableRows(
      settings,
      'type_vocab_size',
      weights,
      'embeddings.token_type_embeddings.weight',
      limits.width,
    ),
    positions,
    firstPosition,
    rope: { theta: settings.positive(keys.theta, 10_000), layout: 'halves' },
    gelu: 'erf',
    normEps: settings.positive(keys.normEps, 1e-12),
    context: Math.min(room, maxTokens),
    pooling,
    normalise,
    labels: tableRows(settings, 'num_labels', weights, 'classifier.weight', limits.width),
  };
}
