import type { RopeScaling } from '@quern/core';
import { limits } from './decoder-config.js';
import type { Settings } from './settings.js';

/**
 * `rope_scaling` (or, in newer files, `rope_parameters`) of a config.json. `dynamic` changes nothing up to the trained
 * context, which is as far as it is used here.
 * @param trained max_position_embeddings
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function readRopeScaling(settings: Settings, trained: number): RopeScaling | undefined {
  const key = settings.has('rope_type') ? 'rope_type' : 'type';
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
    case 'longrope':
    case 'su':
      return settings.refuse(key, 'LongRoPE is not supported');
    default:
      return settings.fail(key, 'default, linear, dynamic, yarn or llama3');
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
    ...(attentionFactor !== undefined && { attentionFactor }),
  };
}

/** The factor on cos and sin: given, or the quotient of two magnitudes (transformers' get_mscale), or YaRN's own. */
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
