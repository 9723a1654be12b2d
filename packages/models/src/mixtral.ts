import type { AttentionBatch, Backend, KvCache, Tensor } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { sparseFeedForward } from './blocks/mixture.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
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
  const attention = selfAttention(b, config);
  const experts = sparseFeedForward(b, config);
  const norm = rootMeanSquareNorm(b, config);

  return {
    ...embedAndLogits(b, w, config),

    layer(x: Tensor, i: number, batch: AttentionBatch, cache: KvCache): Tensor {
      const layer = w.layers[i]!;
      const h = b.add(x, attention(norm(x, layer.attnNorm), layer, i, batch, cache)); // [T, D]
      return experts(norm(h, layer.ffnNorm), h, i, layer); // [T, D]
    },
  };
}
