import type { RopeLayout, RopeOptions, RopeScaling } from '@quern/core';
import type { WeightFile } from '../weights/weight-file.js';
import { type DecoderConfig, limits, type MixtureConfig, readHeads } from './decoder-config.js';
import type { Settings } from './settings.js';

/** What a GGUF file says about its model. Keys of `settings` lack the architecture's prefix. */
export interface GgufSource {
  readonly settings: Settings;
  readonly weights: WeightFile;
  /** Entries of `tokenizer.ggml.tokens`, or 0. */
  readonly tokens: number;
  /** The tensor `rope_freqs.weight`, if any: divisors of the frequencies. */
  readonly ropeFactors: readonly number[] | undefined;
  /** The tensors `rope_factors_long.weight` and `rope_factors_short.weight` of LongRoPE. */
  readonly longRopeFactors?: { readonly long: readonly number[]; readonly short: readonly number[] };
}

/** An architecture's differences from Llama. */
export interface GgufRules {
  /** Every n-th layer has full attention, the others a window. Used if the file has no pattern. */
  readonly windowPeriod?: number;
  /** RoPE base of layers with a window. Used if the file has none. */
  readonly windowTheta?: number;
  /** The norms are LayerNorms, whose epsilon has another key. */
  readonly layerNorm?: true;
  /** Of the file's layers the last `nextn_predict_layers` are left out. Absent: files with such layers are refused. */
  readonly nextN?: true;
  /** Reads the mixture of experts. Absent: files with experts are refused. */
  readonly mixture?: (source: GgufSource, layers: number) => MixtureConfig;
}

/**
 * The configuration of a decoder from GGUF metadata (llama.cpp's keys).
 * @param layout row order of q and k in the architecture's GGUF files
 * @param rules the architecture's differences from Llama
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function decoderConfigFromGguf(
  source: GgufSource,
  layout: RopeLayout,
  rules: GgufRules = {},
): DecoderConfig {
  const { settings, weights } = source;
  if (!rules.mixture && hasExperts(settings))
    settings.refuse('expert_count', 'a mixture of experts is another architecture');
  const nextN = settings.whole('nextn_predict_layers', limits.layers, 0, 0);
  if (nextN > 0 && !rules.nextN)
    settings.refuse('nextn_predict_layers', 'layers that predict further tokens are not supported');
  const width = settings.whole('embedding_length', limits.width);
  const layers = settings.whole('block_count', limits.layers, undefined, nextN + 1) - nextN;
  const context = settings.whole('context_length', limits.context);
  const { heads, kvHeads, headDim } = readHeads(settings, headKeys, width);
  if (settings.whole('attention.value_length', limits.headDim, headDim) !== headDim)
    settings.refuse('attention.value_length', `keys have ${headDim}; values must have the same`);
  return {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    feedForward: settings.whole('feed_forward_length', limits.feedForward),
    vocabulary: readVocabulary(source),
    normEps: settings.positive(`attention.layer_norm_${rules.layerNorm ? '' : 'rms_'}epsilon`),
    ...readRopes(source, headDim, context, layout, rules),
    ...(settings.has('attention.scale') && { attentionScale: settings.positive('attention.scale') }),
    context,
    windows: readWindows(settings, layers, rules),
    tied: !weights.tensors.has('output.weight'),
    ...(nextN > 0 && { nextN }),
    ...(rules.mixture && { mixture: rules.mixture(source, layers) }),
  };
}

/** The GGUF metadata has a mixture of experts. */
export const hasExperts = (settings: Settings): boolean =>
  settings.has('expert_count') && settings.whole('expert_count', limits.experts, 0, 0) > 1;

const headKeys = {
  heads: 'attention.head_count',
  kvHeads: 'attention.head_count_kv',
  headDim: 'attention.key_length',
} as const;

/** Rows of the embedding. Its shape decides: `vocab_size` is often stale. */
function readVocabulary({ settings, weights, tokens }: GgufSource): number {
  const rows = weights.tensors.get('token_embd.weight')?.shape[0] ?? tokens;
  return rows > 0 && rows <= limits.vocabulary ? rows : settings.whole('vocab_size', limits.vocabulary);
}

/** `attention.sliding_window`, 0: none; `attention.sliding_window_pattern` is a period, or a flag per layer. */
function readWindows(settings: Settings, layers: number, { windowPeriod = 0 }: GgufRules): number[] {
  const window = settings.whole('attention.sliding_window', limits.context, 0, 0);
  const key = 'attention.sliding_window_pattern';
  if (!settings.isList(key)) {
    const period = settings.whole(key, limits.layers, windowPeriod, 0);
    return Array.from({ length: layers }, (_, i) => (period > 0 && (i + 1) % period === 0 ? 0 : window));
  }
  const flags = settings.flags(key)!;
  if (flags.length !== layers) settings.fail(key, `a flag for each of ${layers} layers`);
  return flags.map((flag) => (flag ? window : 0));
}

function readRopes(
  source: GgufSource,
  headDim: number,
  context: number,
  layout: RopeLayout,
  { windowTheta }: GgufRules,
): Pick<DecoderConfig, 'rope' | 'windowRope' | 'shortRope'> {
  const { settings } = source;
  const rotaryDim = settings.whole('rope.dimension_count', headDim, headDim);
  if (rotaryDim % 2 !== 0) settings.fail('rope.dimension_count', `an even number up to ${headDim}`);
  const plain = { theta: settings.positive('rope.freq_base', 10_000), rotaryDim, layout };
  if (source.longRopeFactors) return longRope(settings, source.longRopeFactors, plain);
  const scaling = readScaling(source, rotaryDim, context);
  const windowed = windowTheta !== undefined || settings.has('rope.freq_base_swa');
  return {
    rope: { ...plain, ...(scaling && { scaling }) },
    ...(windowed && {
      windowRope: { ...plain, theta: settings.positive('rope.freq_base_swa', windowTheta) },
    }),
  };
}

/** LongRoPE: one list of factors for caches up to the original context, one for longer caches. */
function longRope(
  settings: Settings,
  { long, short }: NonNullable<GgufSource['longRopeFactors']>,
  plain: Required<Omit<RopeOptions, 'scaling'>>,
): Pick<DecoderConfig, 'rope' | 'shortRope'> {
  const attentionFactor = settings.positive('rope.scaling.attn_factor', 1);
  const scaled = (factors: readonly number[], tensor: string): RopeOptions => {
    needFactors(settings, factors, plain.rotaryDim, tensor);
    return { ...plain, scaling: { kind: 'factors', factors, attentionFactor } };
  };
  const context = settings.whole('rope.scaling.original_context_length', limits.context);
  return {
    rope: scaled(long, 'rope_factors_long.weight'),
    shortRope: { context, rope: scaled(short, 'rope_factors_short.weight') },
  };
}

function needFactors(
  settings: Settings,
  factors: readonly number[],
  rotaryDim: number,
  tensor: string,
): void {
  if (factors.length !== rotaryDim / 2 || !factors.every((factor) => factor > 0 && Number.isFinite(factor)))
    settings.fail(
      'rope.dimension_count',
      `half of this number of positive factors in ${tensor}; it has ${factors.length}`,
    );
}

function readScaling(
  { settings, ropeFactors }: GgufSource,
  rotaryDim: number,
  context: number,
): RopeScaling | undefined {
  const factor = settings.positive('rope.scaling.factor', settings.positive('rope.scale_linear', 1));
  const type = settings.text('rope.scaling.type', factor === 1 ? 'none' : 'linear');
  if (ropeFactors) return factorScaling(settings, ropeFactors, rotaryDim, type);
  switch (type) {
    case 'none':
      return undefined;
    case 'linear':
      return factor === 1 ? undefined : { kind: 'linear', factor };
    case 'yarn':
      return yarnScaling(settings, factor, context);
    case 'longrope':
      return settings.fail(
        'rope.scaling.type',
        'the tensors rope_factors_long.weight and rope_factors_short.weight beside it',
      );
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
    settings.refuse(
      'rope.scaling.type',
      'the tensor rope_freqs.weight also scales; only one scaling is allowed',
    );
  needFactors(settings, factors, rotaryDim, 'rope_freqs.weight');
  const attentionFactor = settings.positive('rope.scaling.attn_factor', 1);
  return { kind: 'factors', factors, ...(attentionFactor !== 1 && { attentionFactor }) };
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
