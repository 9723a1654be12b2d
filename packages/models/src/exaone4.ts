import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { postNormLayer } from './blocks/post-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits, sameWindow } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { periodicWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { qwen3Attention, qwen3Weights } from './qwen3.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const { attnNorm: _attn, ffnNorm: _ffn, ...matrices } = qwen3Weights.layer;

/** Qwen3's matrices and head norms; the norms of the layer follow its blocks. */
export const exaone4Weights = {
  model: qwen3Weights.model,
  layer: {
    ...matrices,
    attnOutputNorm: {
      gguf: 'blk.{i}.post_attention_norm.weight',
      huggingFace: 'model.layers.{i}.post_attention_layernorm.weight',
      shape: (c) => [c.width],
    },
    ffnOutputNorm: {
      gguf: 'blk.{i}.post_ffw_norm.weight',
      huggingFace: 'model.layers.{i}.post_feedforward_layernorm.weight',
      shape: (c) => [c.width],
    },
  },
} as const satisfies WeightTable;

/** Of transformers and of llama.cpp. */
const usualWindow = 4096;
const inLlamaCpp = { 'attention.sliding_window': usualWindow };
/** Three of four layers have a window in the models that have any; llama.cpp gives windows to 64 layers alone. */
const [windowPeriod, windowedLayers] = [4, 64];

/**
 * EXAONE 4 (LG AI Research 2025): norms after the blocks, heads of q and k normed. In models with windows, layers with
 * full attention do not rotate.
 */
export const exaone4 = {
  name: 'exaone4',
  names: { gguf: ['exaone4'], huggingFace: ['Exaone4ForCausalLM', 'exaone4'] },
  weights: exaone4Weights,
  gguf: {
    name: 'exaone4',
    rope: 'halves',
    windowPeriod,
    llamaCppDiffers: ({ windows, layers, unrotated }) => {
      const isWindowed = (i: number) => layers === windowedLayers && (i + 1) % windowPeriod !== 0;
      const rotates = (i: number) => layers !== windowedLayers || isWindowed(i);
      return windows.every((window, i) => window > 0 === isWindowed(i) && !unrotated?.[i] === rotates(i))
        ? undefined
        : `gives windows to three of four layers in models of ${windowedLayers} layers, and to no others; only those rotate there`;
    },
  },
  configFromGguf: ({ settings, ...source }) => {
    const known =
      settings.raw('block_count') === windowedLayers ? settings.withDefaults(inLlamaCpp) : settings;
    const config = decoderConfigFromGguf({ ...source, settings: known }, 'halves', { windowPeriod });
    return config.windows.some((window) => window > 0) ? withUnrotated(config) : config;
  },
  configFromHuggingFace: ({ settings, ...source }) => {
    const known = settings.withDefaults({
      num_key_value_heads: 32,
      rms_norm_eps: 1e-5,
      sliding_window: usualWindow,
    }); // of Exaone4Config
    const config = decoderConfigFromHuggingFace({ ...source, settings: known }, windowsOf);
    return known.isNull('sliding_window') ? config : withUnrotated(config);
  },
  build: exaone4Decoder,
} satisfies Architecture;

const withUnrotated = (config: DecoderConfig): DecoderConfig => ({
  ...config,
  unrotated: config.windows.map((window) => window === 0),
});

/** `sliding_window_pattern`: a number, or a letter per layer of a period: 'LLLG' (local, global). */
function windowsOf(settings: Settings, layers: number): readonly number[] {
  if (settings.isNull('sliding_window')) return sameWindow(layers, 0);
  const key = 'sliding_window_pattern';
  const pattern = settings.raw(key);
  if (typeof pattern !== 'string' || settings.has('layer_types'))
    return periodicWindows(windowPeriod)(settings, layers);
  if (!/^[LG]+$/.test(pattern)) settings.fail(key, 'a number, or the letters L and G');
  const window = settings.whole('sliding_window', limits.context);
  return Array.from({ length: layers }, (_, i) => (pattern[i % pattern.length] === 'L' ? window : 0));
}

function exaone4Decoder(b: Backend, w: LoadedWeights<typeof exaone4Weights>, config: DecoderConfig): Decoder {
  const blocks = { attention: qwen3Attention(b, config), feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: postNormLayer(b, w, config, blocks) };
}
