import type { Architecture } from './architecture.js';
import { type DecoderConfig, limits, sameWindow } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { typedWindows } from './config/windows.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';

/** llama.cpp leaves every fourth layer unrotated; its files do not say so. */
const period = 4;
const isPeriodic = (i: number, n: number) => (i + 1) % n === 0;

const withUnrotated = (config: DecoderConfig, isUnrotated: (i: number) => boolean): DecoderConfig => ({
  ...config,
  unrotated: Array.from({ length: config.layers }, (_, i) => isUnrotated(i)),
});

/** SmolLM3 (Bakouch et al. 2025): Llama without rotation in every fourth layer (Yang et al. 2025, NoPE). */
export const smolLm3 = {
  name: 'smollm3',
  names: { gguf: ['smollm3'], huggingFace: ['SmolLM3ForCausalLM', 'smollm3'] },
  weights: llamaWeights,
  gguf: {
    name: 'smollm3',
    rope: 'interleaved',
    llamaCppDiffers: ({ unrotated, windows }) => {
      if (windows.some((window) => window > 0)) return 'has no windows in this architecture';
      const isUsual = unrotated?.every((is, i) => is === isPeriodic(i, period));
      return isUsual ? undefined : `rotates all layers but every ${period}th`;
    },
  },
  configFromGguf: (source) =>
    withUnrotated(decoderConfigFromGguf(source, 'interleaved'), (i) => isPeriodic(i, period)),
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults(defaults);
    const config = decoderConfigFromHuggingFace({ ...source, settings: known }, windowsOf);
    return withUnrotated(config, unrotatedLayers(known, config.layers));
  },
  build: llamaDecoder,
} satisfies Architecture;

/** Of transformers' SmolLM3Config. */
const defaults = { num_key_value_heads: 4, max_position_embeddings: 32_768, rope_theta: 2_000_000 };

/** `sliding_window` if `use_sliding_window`, in the layers of `layer_types` or in those that do not rotate. */
function windowsOf(settings: Settings, layers: number): readonly number[] {
  if (!settings.flag('use_sliding_window') || !settings.has('sliding_window')) return sameWindow(layers, 0);
  const window = settings.whole('sliding_window', limits.context);
  const types = settings.texts('layer_types');
  if (types) return typedWindows(settings, types, layers, window);
  const isUnrotated = unrotatedLayers(settings, layers);
  return Array.from({ length: layers }, (_, i) => (isUnrotated(i) ? window : 0));
}

/** `no_rope_layers`: 1 for a layer that rotates; absent: every `no_rope_layer_interval`-th does not. */
function unrotatedLayers(settings: Settings, layers: number): (i: number) => boolean {
  const rotates = settings.wholes('no_rope_layers', 1, undefined, 0);
  if (!rotates) {
    const interval = settings.whole('no_rope_layer_interval', limits.layers, period);
    return (i) => isPeriodic(i, interval);
  }
  if (rotates.length < layers) settings.fail('no_rope_layers', `0 or 1 for each of ${layers} layers`);
  return (i) => rotates[i] === 0;
}
