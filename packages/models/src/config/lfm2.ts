// The configuration of LFM2.
import { type DecoderConfig, limits } from './decoder-config.js';
import { decoderConfigFromGguf, type GgufSource } from './gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './hugging-face.js';
import type { Settings } from './settings.js';
import { noWindows } from './windows.js';

/** `conv`: the layers with a convolution of `inputs` inputs. */
const withConvs = (config: DecoderConfig, conv: readonly boolean[], inputs: number): DecoderConfig => ({
  ...config,
  layerStates: conv.map((is) =>
    is ? { kind: 'state', parts: { conv: { heads: inputs - 1, width: config.width } } } : undefined,
  ),
});

/** Layers without kv heads have a convolution. */
export function lfm2FromGguf({ settings, ...source }: GgufSource): DecoderConfig {
  const key = 'attention.head_count_kv';
  const layers = settings.whole('block_count', limits.layers);
  const kvHeads = settings.wholes(key, limits.heads, undefined, 0) ?? [];
  if (kvHeads.length !== layers || kvHeads.every((count) => count === 0))
    settings.fail(key, `a number for each of ${layers} layers, not all 0`);
  const known = settings.replacing({ [key]: Math.max(...kvHeads) });
  const config = decoderConfigFromGguf({ ...source, settings: known }, 'halves');
  return withConvs(
    config,
    kvHeads.map((count) => count === 0),
    settings.whole('shortconv.l_cache', 1024, undefined, 2),
  );
}

export function lfm2FromHuggingFace({ settings, ...source }: HuggingFaceSource): DecoderConfig {
  if (settings.flag('conv_bias')) settings.refuse('conv_bias', 'convolutions with a bias are not supported');
  const known = settings
    .withDefaults({
      rope_theta: 1e6,
      max_position_embeddings: 128_000,
      num_key_value_heads: 8,
      conv_L_cache: 3,
    })
    .replacing({ intermediate_size: feedForwardOf(settings) });
  const rules = { epsilon: ['norm_eps', 1e-5] } as const;
  const config = decoderConfigFromHuggingFace({ ...source, settings: known }, noWindows, rules);
  const inputs = known.whole('conv_L_cache', 1024, undefined, 2);
  const tied = settings.flag('tie_embedding') ?? settings.flag('tie_word_embeddings') ?? true;
  return withConvs({ ...config, tied }, convLayers(settings, config.layers), inputs);
}

/** `layer_types`: conv or full_attention; before: `full_attn_idxs`. */
function convLayers(settings: Settings, layers: number): readonly boolean[] {
  const types = settings.texts('layer_types');
  if (!types) {
    const full = new Set(settings.wholes('full_attn_idxs', layers - 1, undefined, 0));
    if (full.size === 0) settings.fail('full_attn_idxs', 'a layer with attention at least');
    return Array.from({ length: layers }, (_, i) => !full.has(i));
  }
  const isKnown = (type: string) => type === 'conv' || type === 'full_attention';
  if (types.length !== layers || !types.every(isKnown) || !types.includes('full_attention'))
    settings.fail('layer_types', `${layers} times conv or full_attention, the latter at least once`);
  return types.map((type) => type === 'conv');
}

/** F of the width that the configuration states, as transformers' Lfm2MLP computes it. */
function feedForwardOf(settings: Settings): number {
  const key = settings.has('block_ff_dim') ? 'block_ff_dim' : 'intermediate_size';
  const stated = settings.whole(key, limits.feedForward);
  if (settings.flag('block_auto_adjust_ff_dim') === false) return stated;
  const scaled = Math.trunc(settings.positive('block_ffn_dim_multiplier', 1) * Math.trunc((2 * stated) / 3));
  const multiple = settings.whole('block_multiple_of', limits.feedForward, 256);
  return multiple * Math.ceil(scaled / multiple);
}
