import type { Architecture } from './architecture.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import { qwen3 } from './qwen3.js';
import { mapTensors } from './weights/map-tensors.js';

/** Pairs per coordinate of the published models (time, height, width). */
const usualSections = [24, 20, 20] as const;
/** llama.cpp wants as many. */
const coordinates = 4;

/**
 * Qwen3-VL (Qwen Team 2025), dense models, the language model. M-RoPE turns by three coordinates per token, which are
 * equal for text: Qwen3.
 */
export const qwen3Vl = {
  ...qwen3,
  name: 'qwen3vl',
  names: { gguf: ['qwen3vl'], huggingFace: ['Qwen3VLForConditionalGeneration', 'qwen3_vl', 'qwen3_vl_text'] },
  gguf: {
    name: 'qwen3vl',
    rope: 'halves',
    metadata: ({ ropeSections = usualSections }) => ({
      'rope.dimension_sections': Array.from({ length: coordinates }, (_, i) => ropeSections[i] ?? 0),
    }),
  },
  rename: (file) =>
    mapTensors(file, ({ name, ...tensor }) =>
      name.startsWith('model.visual.')
        ? []
        : [{ ...tensor, name: name.replace('model.language_model.', 'model.') }],
    ),
  configFromGguf: (source) => ({
    ...qwen3.configFromGguf(source),
    ropeSections: sectionsOf(source.settings, 'rope.dimension_sections'),
  }),
  configFromHuggingFace: ({ settings, weights }) => {
    const text = settings.section('text_config') ?? settings;
    const tied = settings.flag('tie_word_embeddings') ?? text.flag('tie_word_embeddings');
    const known = text.withDefaults(defaults);
    const rope = known.section('rope_parameters') ?? known.section('rope_scaling') ?? known;
    return {
      ...decoderConfigFromHuggingFace({ settings: known, weights }, noWindows),
      ...(tied !== undefined && { tied }),
      ropeSections: sectionsOf(rope, 'mrope_section'),
    };
  },
} satisfies Architecture;

/** Defaults of transformers' Qwen3VLTextConfig. */
const defaults = {
  num_key_value_heads: 32,
  head_dim: 128,
  rope_theta: 5_000_000,
  max_position_embeddings: 128_000,
};

function sectionsOf(settings: Settings, key: string): readonly number[] {
  const sections = settings.wholes(key, 2 ** 14, usualSections, 0);
  return sections.length <= coordinates
    ? sections
    : settings.fail(key, `at most ${coordinates} whole numbers`);
}
