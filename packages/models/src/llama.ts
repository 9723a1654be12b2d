import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights } from './weights/weight-table.js';

/** Llama 2 and 3.x (Touvron et al. 2023). In GGUF files, q and k rotate neighbouring elements ('interleaved'). */
export const llama: Architecture = {
  name: 'llama',
  names: { gguf: ['llama'], huggingFace: ['LlamaForCausalLM', 'llama'] },
  weights: llamaWeights,
  gguf: { name: 'llama', rope: 'interleaved' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'interleaved'),
  configFromHuggingFace: (source) => decoderConfigFromHuggingFace(source, noWindows),
  build: llamaDecoder,
};

/** A layer of Llama: pre-norm attention with rotary positions, and a gated feed-forward. */
export function llamaDecoder(
  b: Backend,
  w: LoadedWeights<typeof llamaWeights>,
  config: DecoderConfig,
): Decoder {
  const blocks = { attention: selfAttention(b, config), feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
