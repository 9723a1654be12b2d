import type { Architecture } from './architecture.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import { qwen3 } from './qwen3.js';
import { mapTensors } from './weights/map-tensors.js';

/**
 * Qwen3-VL (Qwen Team 2025), dense models, the language model. M-RoPE turns by three positions per token, which are
 * equal for text: Qwen3.
 */
export const qwen3Vl = {
  ...qwen3,
  name: 'qwen3vl',
  names: { gguf: ['qwen3vl'], huggingFace: ['Qwen3VLForConditionalGeneration', 'qwen3_vl', 'qwen3_vl_text'] },
  gguf: { name: 'qwen3vl', rope: 'halves' },
  rename: (file) =>
    mapTensors(file, (tensor) => [
      { ...tensor, name: tensor.name.replace('model.language_model.', 'model.') },
    ]),
  configFromHuggingFace: ({ settings, weights }) => {
    const text = settings.section('text_config') ?? settings;
    const tied = settings.flag('tie_word_embeddings') ?? text.flag('tie_word_embeddings');
    const known = text.withDefaults({ rope_theta: 5_000_000, max_position_embeddings: 128_000 }); // of Qwen3VLTextConfig
    const config = decoderConfigFromHuggingFace({ settings: known, weights }, noWindows);
    return { ...config, ...(tied !== undefined && { tied }) };
  },
} satisfies Architecture;
