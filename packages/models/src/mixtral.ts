import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf, hasExperts } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import { mixtralMixture, mixtureFromGguf } from './config/mixture.js';
import { mixtralWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import { denseFeedForward, mixtureEntries, splitExperts } from './mixture-weights.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const expertNames = ['model.layers.{i}.block_sparse_moe', { gate: 'w1', up: 'w3', down: 'w2' }] as const;

/** Llama's parameters; router and experts replace the feed-forward. */
export const mixtralWeights = {
  model: llamaWeights.model,
  layer: {
    ...llamaWeights.layer,
    ...denseFeedForward,
    ...mixtureEntries(...expertNames),
  },
} as const satisfies WeightTable;

/** Mixtral (Jiang et al. 2024): Mistral with experts. In GGUF files its architecture is 'llama'. */
export const mixtral: Architecture = {
  name: 'mixtral',
  names: { gguf: ['llama'], huggingFace: ['MixtralForCausalLM', 'mixtral'] },
  accepts: (settings, naming) => naming === 'huggingFace' || hasExperts(settings),
  weights: mixtralWeights,
  rename: splitExperts(...expertNames),
  gguf: { name: 'llama', rope: 'interleaved' },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'interleaved', { mixture: mixtureFromGguf }),
  configFromHuggingFace: (source) =>
    decoderConfigFromHuggingFace(source, mixtralWindows, { mixture: mixtralMixture }),
  build: mixtralDecoder,
};

/** Mixtral's decoder: Mistral's attention and a mixture of experts. Some merged models also have dense layers. */
function mixtralDecoder(b: Backend, w: LoadedWeights<typeof mixtralWeights>, config: DecoderConfig): Decoder {
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, selfAttention(b, config)) };
}
