import type { Backend, Tensor } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import type { LoadedWeights } from './weights/weight-table.js';

type Factors = Pick<DecoderConfig, 'embeddingFactor' | 'residualFactor' | 'attentionScale' | 'logitFactor'>;

const float = (value: number): MetadataInput => ({ type: 'float32', value });

/** Granite 3 (IBM 2024), dense models: Llama with four factors (Yang et al. 2022, μP). */
export const granite = {
  name: 'granite',
  names: { gguf: ['granite'], huggingFace: ['GraniteForCausalLM', 'granite'] },
  weights: llamaWeights,
  gguf: {
    name: 'granite',
    rope: 'interleaved',
    metadata: ({ embeddingFactor = 1, residualFactor = 1, logitFactor = 1 }) => ({
      embedding_scale: float(embeddingFactor),
      residual_scale: float(residualFactor),
      logit_scale: float(1 / logitFactor), // a divisor
    }),
  },
  configFromGguf: (source) => {
    const factor = (key: string) =>
      source.settings.number(key, 0) === 0 ? 1 : source.settings.positive(key); // 0: off
    return {
      ...decoderConfigFromGguf(source, 'interleaved'), // it reads attention.scale
      embeddingFactor: factor('embedding_scale'),
      residualFactor: factor('residual_scale'),
      logitFactor: 1 / factor('logit_scale'),
    };
  },
  configFromHuggingFace: (source) => ({
    ...decoderConfigFromHuggingFace(source, noWindows),
    ...factorsOf(source.settings),
  }),
  build: graniteDecoder,
} satisfies Architecture;

/** Absent factors are 1, also that on q·k (transformers' GraniteConfig). */
const factorsOf = (settings: Settings): Factors => ({
  embeddingFactor: settings.positive('embedding_multiplier', 1),
  residualFactor: settings.positive('residual_multiplier', 1),
  attentionScale: settings.positive('attention_multiplier', 1),
  logitFactor: 1 / settings.positive('logits_scaling', 1),
});

function graniteDecoder(b: Backend, w: LoadedWeights<typeof llamaWeights>, config: DecoderConfig): Decoder {
  const { embed, norm, logits } = embedAndLogits(b, w, config);
  const attend = selfAttention(b, config);
  const feed = swigluFeedForward(b);
  const times = (x: Tensor, factor = 1) => (factor === 1 ? x : b.scale(x, factor));
  const blocks = {
    attention: (...inputs: Parameters<typeof attend>) => times(attend(...inputs), config.residualFactor), // [T, D]
    feedForward: (...inputs: Parameters<typeof feed>) => times(feed(...inputs), config.residualFactor), // [T, D]
  };
  return {
    embed: (ids) => times(embed(ids), config.embeddingFactor), // [T, D]
    norm,
    layer: preNormLayer(b, w, config, blocks),
    logits: (x) => times(logits(x), config.logitFactor), // [R, V]
  };
}
