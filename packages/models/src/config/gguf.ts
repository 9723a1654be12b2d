import type { RopeLayout, RopeOptions, RopeScaling } from '@quern/core';
import type { WeightFile } from '../weights/weight-file.js';
import { type DecoderConfig, limits, type MixtureConfig, readHeads, sameWindow } from './decoder-config.js';
import type { Settings } from './settings.js';

/** What a GGUF file says about its model. Keys of `settings` go without the architecture's prefix. */
export interface GgufSource {
  readonly settings: Settings;
  readonly weights: WeightFile;
  /** Entries of `tokenizer.ggml.tokens`, or 0. */
  readonly tokens: number;
  /** The tensor `rope_freqs.weight`, where the file has it: what each frequency is divided by. */
  readonly ropeFactors: readonly number[] | undefined;
}

/**
 * The configuration of a decoder from GGUF metadata (llama.cpp's keys).
 * @param layout how the architecture's q and k rows are ordered in GGUF files
 * @param readMixture for architectures with experts; the others refuse a file that has any
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function decoderConfigFromGguf(
  source: GgufSource,
  layout: RopeLayout,
  readMixture?: (source: GgufSource, layers: number) => MixtureConfig,
): DecoderConfig {
  const { settings, weights } = source;
  if (!readMixture && hasExperts(settings))
    settings.refuse('expert_count', 'a mixture of experts is another architecture');
  const width = settings.whole('embedding_length', limits.width);
  const layers = settings.whole('block_count', limits.layers);
  const context = settings.whole('context_length', limits.context);
  const { heads, kvHeads, headDim } = readHeads(settings, headKeys, width);
  if (settings.whole('attention.value_length', limits.headDim, headDim) !== headDim)
    settings.refuse('attention.value_length', `keys have ${headDim}, and values must have as many`);
  const window = settings.has('attention.sliding_window')
    ? settings.whole('attention.sliding_window', limits.context)
    : 0;
  return {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    feedForward: settings.whole('feed_forward_length', limits.feedForward),
    vocabulary: readVocabulary(source),
    rmsEps: settings.positive('attention.layer_norm_rms_epsilon'),
    rope: readRope(source, headDim, context, layout),
    context,
    windows: sameWindow(layers, window),
    tied: !weights.tensors.has('output.weight'),
    ...(readMixture && { mixture: readMixture(source, layers) }),
  };
}

/** Whether GGUF metadata speaks of a mixture of experts. */
export const hasExperts = (settings: Settings): boolean =>
  settings.has('expert_count') && settings.whole('expert_count', limits.experts, 0, 0) > 1;

const headKeys = {
  heads: 'attention.head_count',
  kvHeads: 'attention.head_count_kv',
  headDim: 'attention.key_length',
} as const;

/** Rows of the embedding: its own shape decides, for `vocab_size` is often stale. */
function readVocabulary({ settings, weights, tokens }: GgufSource): number {
  const rows = weights.tensors.get('token_embd.weight')?.shape[0] ?? tokens;
  return rows > 0 && rows <= limits.vocabulary ? rows : settings.whole('vocab_size', limits.vocabulary);
}

function readRope(source: GgufSource, headDim: number, context: number, layout: RopeLayout): RopeOptions {
  const { settings } = source;
  const rotaryDim = settings.whole('rope.dimension_count', headDim, headDim);
  if (rotaryDim % 2 !== 0) settings.fail('rope.dimension_count', `an even number up to ${headDim}`);
  const scaling = readScaling(source, rotaryDim, context);
  return {
    theta: settings.positive('rope.freq_base', 10_000),
    rotaryDim,
    layout,
    ...(scaling && { scaling }),
  };
}

function readScaling(
  { settings, weights, ropeFactors }: GgufSource,
  rotaryDim: number,
  context: number,
): RopeScaling | undefined {
  const factor = settings.positive('rope.scaling.factor', settings.positive('rope.scale_linear', 1));
  const type = settings.text('rope.scaling.type', factor === 1 ? 'none' : 'linear');
  if (weights.tensors.has('rope_factors_long.weight'))
    settings.refuse('rope.scaling.type', 'LongRoPE (tensor rope_factors_long.weight) is not supported');
  if (ropeFactors) return factorScaling(settings, ropeFactors, rotaryDim, type);
  switch (type) {
    case 'none':
      return undefined;
    case 'linear':
      return factor === 1 ? undefined : { kind: 'linear', factor };
    case 'yarn':
      return yarnScaling(settings, factor, context);
    case 'longrope':
      return settings.refuse('rope.scaling.type', 'LongRoPE is not supported');
    default:
      return settings.fail('rope.scaling.type', 'none, linear or yarn');
  }
}

function factorScaling(
  settings: Settings,
  factors: readonly number[],
  rotaryDim: number,
  type: string,
): RopeScaling {
  if (type !== 'none')
    settings.refuse('rope.scaling.type', 'the tensor rope_freqs.weight scales already, and only one may');
  if (factors.length !== rotaryDim / 2 || !factors.every((factor) => factor > 0 && Number.isFinite(factor)))
    settings.fail(
      'rope.dimension_count',
      `half as many positive factors in rope_freqs.weight; it has ${factors.length}`,
    );
  return { kind: 'factors', factors };
}

/** llama.cpp's YaRN: `attn_factor` multiplies the magnitude 0.1 · ln(factor) + 1 (ggml's rope_yarn). */
function yarnScaling(settings: Settings, factor: number, context: number): RopeScaling {
  return {
    kind: 'yarn',
    factor,
    originalContext: settings.whole('rope.scaling.original_context_length', limits.context, context),
    betaFast: settings.positive('rope.scaling.yarn_beta_fast', 32),
    betaSlow: settings.positive('rope.scaling.yarn_beta_slow', 1),
    attentionFactor: settings.positive('rope.scaling.attn_factor', 1) * (0.1 * Math.log(factor) + 1),
  };
}
