import type { RopeOptions, RopeScaling } from '@quern/core';
import { type DecoderConfig, limits } from './decoder-config.js';
import type { Settings } from './settings.js';

/** The RoPE settings of a decoder. */
export type Ropes = Pick<DecoderConfig, 'rope' | 'shortRope'>;

/**
 * The RoPE settings of a config.json.
 * @param plain RoPE without scaling
 * @param rotaryDim elements of a head that rotate
 * @param trained max_position_embeddings
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function readRopes(
  settings: Settings,
  section: Settings | undefined,
  plain: RopeOptions,
  rotaryDim: number,
  trained: number,
): Ropes {
  if (!section) return { rope: plain };
  if (isLongRope(section)) return longRope(settings, section, plain, rotaryDim, trained);
  const scaling = readRopeScaling(section, trained);
  return { rope: { ...plain, ...(scaling && { scaling }) } };
}

const typeKey = (section: Settings) => (section.has('rope_type') ? 'rope_type' : 'type');

const isLongRope = (section: Settings): boolean =>
  ['longrope', 'su'].includes(section.text(typeKey(section), 'default'));

/**
 * LongRoPE as in Phi-3 (Ding et al. 2024): a factor per frequency; one list for texts up to the original context, one
 * for longer texts. cos and sin are multiplied by √(1 + ln s / ln original), s = context / original.
 */
function longRope(
  settings: Settings,
  section: Settings,
  plain: RopeOptions,
  rotaryDim: number,
  trained: number,
): Ropes {
  const key = 'original_max_position_embeddings';
  const holder = [settings, section].find((some) => some.has(key));
  const context = holder?.whole(key, limits.context, undefined, 2) ?? trained;
  const stretch = holder === settings ? trained / context : section.positive('factor', trained / context);
  const own = stretch <= 1 ? 1 : Math.sqrt(1 + Math.log(stretch) / Math.log(context));
  const attentionFactor = section.positive('attention_factor', own);
  const scaled = (list: string): RopeOptions => ({
    ...plain,
    scaling: { kind: 'factors', factors: section.positives(list, rotaryDim / 2), attentionFactor },
  });
  return { rope: scaled('long_factor'), shortRope: { context, rope: scaled('short_factor') } };
}

/**
 * `rope_scaling` (newer files: `rope_parameters`) of a config.json. `dynamic` scales only beyond the trained context,
 * so here it means no scaling.
 * @param trained max_position_embeddings
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function readRopeScaling(settings: Settings, trained: number): RopeScaling | undefined {
  const key = typeKey(settings);
  const type = settings.text(key, 'default');
  switch (type) {
    case 'default':
    case 'dynamic':
      return undefined;
    case 'linear':
      return { kind: 'linear', factor: settings.positive('factor') };
    case 'yarn':
      return yarn(settings, trained);
    case 'llama3':
      return llama3(settings);
    default:
      return settings.fail(key, 'default, linear, dynamic, yarn, llama3 or longrope');
  }
}

function yarn(settings: Settings, trained: number): RopeScaling {
  const originalContext = settings.whole('original_max_position_embeddings', limits.context, trained);
  const factor = settings.positive('factor', trained / originalContext);
  const attentionFactor = yarnMagnitude(settings, factor);
  return {
    kind: 'yarn',
    factor,
    originalContext,
    betaFast: settings.positive('beta_fast', 32),
    betaSlow: settings.positive('beta_slow', 1),
    ...(settings.flag('truncate') === false && { truncate: false }),
    ...(attentionFactor !== undefined && { attentionFactor }),
  };
}

/**
 * The factor on cos and sin: from the file, or a quotient of two magnitudes (transformers' get_mscale), or YaRN's
 * default.
 */
function yarnMagnitude(settings: Settings, factor: number): number | undefined {
  if (settings.has('attention_factor')) return settings.positive('attention_factor');
  if (!settings.has('mscale') || !settings.has('mscale_all_dim')) return undefined;
  const magnitude = (key: string) => 0.1 * settings.positive(key) * Math.log(factor) + 1;
  return factor <= 1 ? 1 : magnitude('mscale') / magnitude('mscale_all_dim');
}

function llama3(settings: Settings): RopeScaling {
  const lowFrequencyFactor = settings.positive('low_freq_factor');
  const highFrequencyFactor = settings.positive('high_freq_factor');
  if (highFrequencyFactor <= lowFrequencyFactor)
    settings.fail('high_freq_factor', `more than low_freq_factor, which is ${lowFrequencyFactor}`);
  return {
    kind: 'llama3',
    factor: settings.positive('factor'),
    lowFrequencyFactor,
    highFrequencyFactor,
    originalContext: settings.whole('original_max_position_embeddings', limits.context),
  };
}
