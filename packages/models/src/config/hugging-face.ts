import type { RopeLayout, RopeOptions } from '@quern/core';
import type { EmbeddingRules } from '../encoder/encoder-parameters.js';
import type { WeightFile } from '../weights/weight-file.js';
import { type DecoderConfig, limits, type MixtureConfig, readHeads } from './decoder-config.js';
import { readGelu } from './gelu.js';
import { readRopes } from './hugging-face-rope.js';
import type { Settings } from './settings.js';

/** What a folder of Hugging Face transformers says about its model. */
export interface HuggingFaceSource {
  /** config.json. */
  readonly settings: Settings;
  readonly weights: WeightFile;
  /** Encoders: settings from sentence-transformers' files in the same folder. */
  readonly embedding?: EmbeddingRules;
}

/** An architecture's differences from Llama. */
export interface HuggingFaceRules {
  /** Allowed activations of the feed-forward, the default first; absent: silu. */
  readonly activations?: readonly string[];
  /** The feed-forward has a gelu: the key and the default of its form. */
  readonly gelu?: readonly [key: string, otherwise: string];
  /** `partial_rotary_factor` applies: only the first part of a head rotates. Absent: the whole head. */
  readonly partialRotary?: true;
  /** The elements of a head that rotate together; absent: 'halves'. */
  readonly layout?: RopeLayout;
  /** Key and default of the norms' epsilon; absent: rms_norm_eps, 1e-6. */
  readonly epsilon?: readonly [key: string, otherwise: number];
  /** Reads the mixture of experts. */
  readonly mixture?: (settings: Settings, layers: number) => MixtureConfig;
}

/**
 * The configuration of a decoder from config.json. Absent settings take the defaults of transformers' classes.
 * @param windows the architecture's reader of the window per layer
 * @param rules the architecture's differences from Llama; a setting that needs an absent rule is refused
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function decoderConfigFromHuggingFace(
  { settings, weights }: HuggingFaceSource,
  windows: (settings: Settings, layers: number) => readonly number[],
  rules: HuggingFaceRules = {},
): DecoderConfig {
  if (!rules.gelu) needActivation(settings, rules.activations ?? ['silu']);
  const width = settings.whole('hidden_size', limits.width);
  const layers = settings.whole('num_hidden_layers', limits.layers);
  const { heads, kvHeads, headDim } = readHeads(settings, headKeys, width);
  const trained = settings.whole('max_position_embeddings', limits.context, 2048);
  const parameters = settings.section('rope_parameters') ?? settings.section('rope_scaling');
  const section = parameters?.section('full_attention') ?? parameters; // newer files: one per kind of layer
  const windowed = parameters?.section('sliding_attention');
  const rotaryDim = readRotaryDim(settings, section, headDim, rules);
  const plain: RopeOptions = {
    theta: readTheta(settings, section),
    layout: rules.layout ?? 'halves',
    ...(rotaryDim < headDim && { rotaryDim }),
  };
  const ropes = readRopes(settings, section, plain, rotaryDim, trained);
  const { scaling } = ropes.rope;
  const stretched = scaling?.kind === 'yarn' ? Math.floor(scaling.factor * scaling.originalContext) : 0;
  return {
    layers,
    width,
    heads,
    kvHeads,
    headDim,
    feedForward: settings.whole('intermediate_size', limits.feedForward),
    vocabulary: settings.whole('vocab_size', limits.vocabulary),
    normEps: settings.positive(...(rules.epsilon ?? (['rms_norm_eps', 1e-6] as const))),
    ...(rules.gelu && { gelu: readGelu(settings, ...rules.gelu) }),
    ...ropes,
    ...(windowed && {
      windowRope: readRopes(
        settings,
        windowed,
        { ...plain, theta: readTheta(settings, windowed) },
        rotaryDim,
        trained,
      ).rope,
    }),
    context: Math.max(trained, stretched),
    windows: windows(settings, layers),
    tied: settings.flag('tie_word_embeddings') ?? !weights.tensors.has('lm_head.weight'),
    ...(rules.mixture && { mixture: rules.mixture(settings, layers) }),
  };
}

const headKeys = {
  heads: 'num_attention_heads',
  kvHeads: 'num_key_value_heads',
  headDim: 'head_dim',
} as const;

/** The key is hidden_act; Gemma: hidden_activation. */
function needActivation(settings: Settings, known: readonly string[]): void {
  const key = settings.has('hidden_activation') ? 'hidden_activation' : 'hidden_act';
  if (!known.includes(settings.text(key, known[0])))
    settings.refuse(key, `the feed-forward of this architecture supports ${known.join(' or ')}`);
}

/** R, the elements of a head that rotate. */
function readRotaryDim(
  settings: Settings,
  section: Settings | undefined,
  headDim: number,
  { partialRotary }: HuggingFaceRules,
): number {
  const key = 'partial_rotary_factor';
  const holder = [section, settings].find((some) => some?.has(key)); // the newer place first, as transformers does
  const part = holder?.positive(key) ?? 1;
  if (part !== 1 && !partialRotary) return holder!.refuse(key, 'this architecture rotates whole heads');
  const rotaryDim = Math.trunc(headDim * part);
  if (part > 1 || rotaryDim < 2 || rotaryDim % 2 !== 0)
    return holder!.fail(key, `a part of the head's ${headDim} elements, even and at least 2`);
  return rotaryDim;
}

/** Older files: rope_theta at the top; newer: in rope_parameters. */
function readTheta(settings: Settings, ropeSettings: Settings | undefined): number {
  return ropeSettings?.has('rope_theta')
    ? ropeSettings.positive('rope_theta')
    : settings.positive('rope_theta', 10_000);
}
