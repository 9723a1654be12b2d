import type { Architecture } from './architecture.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { qwenWindows } from './config/windows.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightEntry, WeightTable } from './weights/weight-table.js';

const { layer } = llamaWeights;

/** Llama's parameters; the biases of q, k and v are required. */
const qwen2Weights = {
  model: llamaWeights.model,
  layer: { ...layer, qBias: needed(layer.qBias), kBias: needed(layer.kBias), vBias: needed(layer.vBias) },
} as const satisfies WeightTable;

function needed({ gguf, huggingFace, shape }: WeightEntry): WeightEntry {
  return { gguf, huggingFace, shape };
}

/** Qwen2 and Qwen2.5 (Yang et al. 2024): Llama with biases on q, k and v. */
export const qwen2: Architecture = {
  name: 'qwen2',
  names: { gguf: ['qwen2'], huggingFace: ['Qwen2ForCausalLM', 'qwen2'] },
  weights: qwen2Weights,
  gguf: { name: 'qwen2', rope: 'halves' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, qwenWindows),
  build: llamaDecoder,
};
