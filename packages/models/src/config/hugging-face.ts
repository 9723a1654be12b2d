import type { EmbeddingRules } from '../encoder/encoder-config.js';
import type { WeightFile } from '../weights/weight-file.js';
import { type DecoderConfig, limits, type MixtureConfig, readHeads } from './decoder-config.js';
import { readRopeScaling } from './hugging-face-rope.js';
import type { Settings } from './settings.js';

/** What a folder of Hugging Face transformers says about its model. */
export interface HuggingFaceSource {
  /** config.json. */
  readonly settings: Settings;
  readonly weights: WeightFile;
  /** What the files of sentence-transformers beside it say, for encoders. */
  readonly embedding?: EmbeddingRules;
}

/**
 * The configuration of a decoder from config.json. Absent settings take the defaults of transformers' own classes.
 * @param windows looks back per layer, as the architecture reads them
 * @param readMixture for architectures with experts
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function decoderConfigFromHuggingFace(
  { settings, weights }: HuggingFaceSource,
  windows: (settings: Settings, layers: number) => readonly number[],
  readMixture?: (settings: Settings, layers: number) => MixtureConfig,
): DecoderConfig {
  refuseUnsupported(settings);
  const width = settings.whole('hidden_size', limits.width);
  const layers = settings.whole('num_hidden_layers', limits.layers);
  const { heads, kvHeads, headDim } = readHeads(settings, headKeys, width);
  const trained = settings.whole('max_position_embeddings', limits.context, 2048);
  const ropeSettings = settings.section('rope_parameters') ?? settings.section('rope_scaling');
  const scaling = ropeSettings && readRopeScaling(ropeSettings, trained);
  const stretched = scaling?.kind === 'yarn' ? Math.floor(scaling.factor * scaling.originalContext) : 0;
  return {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    feedForward: settings.whole('intermediate_size', limits.feedForward),
    vocabulary: settings.whole('vocab_size', limits.vocabulary),
    rmsEps: settings.positive('rms_norm_eps', 1e-6),
    rope: { theta: readTheta(settings, ropeSettings), layout: 'halves', ...(scaling && { scaling }) },
    context: Math.max(trained, stretched),
    windows: windows(settings, layers),
    tied: settings.flag('tie_word_embeddings') ?? !weights.tensors.has('lm_head.weight'),
    ...(readMixture && { mixture: readMixture(settings, layers) }),
  };
}

const headKeys = {
  heads: 'num_attention_heads',
  kvHeads: 'num_key_value_heads',
  headDim: 'head_dim',
} as const;

function refuseUnsupported(settings: Settings): void {
  if (settings.text('hidden_act', 'silu') !== 'silu')
    settings.refuse('hidden_act', 'the feed-forward is computed with silu');
  const partial = settings.has('partial_rotary_factor') ? settings.positive('partial_rotary_factor') : 1;
  if (partial !== 1) settings.refuse('partial_rotary_factor', 'these architectures rotate whole heads');
}

/** Older files have rope_theta at the top, newer ones inside rope_parameters. */
function readTheta(settings: Settings, ropeSettings: Settings | undefined): number {
  return ropeSettings?.has('rope_theta')
    ? ropeSettings.positive('rope_theta')
    : settings.positive('rope_theta', 10_000);
}
