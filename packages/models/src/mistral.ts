import type { Architecture } from './architecture.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { mistralWindows } from './config/windows.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';

/** Mistral (Jiang et al. 2023): Llama with a sliding window. In GGUF files its architecture is 'llama'. */
export const mistral: Architecture = {
  name: 'mistral',
  names: { gguf: [], huggingFace: ['MistralForCausalLM', 'mistral'] },
  weights: llamaWeights,
  gguf: { name: 'llama', rope: 'interleaved' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'interleaved'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, mistralWindows),
  build: llamaDecoder,
};
