import { type RopeOptions, ropeFrequencies } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import type { DecoderConfig } from '../config/decoder-config.js';
import { ModelError } from '../error.js';

type Entries = Record<string, MetadataInput>;

const float = (value: number): MetadataInput => ({ type: 'float32', value });

/**
 * llama.cpp's metadata of a decoder, under the name that GGUF files give its architecture: what `decoderConfigFromGguf` reads.
 * @throws ModelError UNSUPPORTED_CONFIG for what GGUF cannot say.
 */
export function ggufMetadata(architecture: string, config: DecoderConfig): Entries {
  const { heads, kvHeads, headDim, rope } = config;
  const entries: Entries = {
    block_count: config.layers,
    context_length: config.context,
    embedding_length: config.width,
    feed_forward_length: config.feedForward,
    'attention.head_count': heads,
    'attention.head_count_kv': kvHeads,
    'attention.key_length': headDim,
    'attention.value_length': headDim,
    'attention.layer_norm_rms_epsilon': float(config.rmsEps),
    'rope.dimension_count': rope.rotaryDim ?? headDim,
    'rope.freq_base': float(rope.theta),
    vocab_size: config.vocabulary,
    ...mixtureEntries(config),
    ...windowEntries(config),
    ...scalingEntries(rope),
  };
  return Object.fromEntries(Object.entries(entries).map(([key, value]) => [`${architecture}.${key}`, value]));
}

function mixtureEntries({ mixture }: DecoderConfig): Entries {
  if (!mixture) return {};
  return {
    expert_count: mixture.experts,
    expert_used_count: mixture.chosen,
    expert_feed_forward_length: mixture.feedForward,
    expert_weights_norm: mixture.renormalise,
  };
}

function windowEntries({ windows }: DecoderConfig): Entries {
  const window = windows[0] ?? 0;
  if (windows.some((other) => other !== window))
    throw new ModelError(
      'UNSUPPORTED_CONFIG',
      'the layers look back by different windows, which GGUF files of these architectures cannot say',
    );
  return window > 0 ? { 'attention.sliding_window': window } : {};
}

function scalingEntries({ scaling }: RopeOptions): Entries {
  switch (scaling?.kind) {
    case 'linear':
      return { 'rope.scaling.type': 'linear', 'rope.scaling.factor': float(scaling.factor) };
    case 'yarn': {
      const own = 0.1 * Math.log(scaling.factor) + 1;
      return {
        'rope.scaling.type': 'yarn',
        'rope.scaling.factor': float(scaling.factor),
        'rope.scaling.original_context_length': scaling.originalContext,
        'rope.scaling.yarn_beta_fast': float(scaling.betaFast ?? 32),
        'rope.scaling.yarn_beta_slow': float(scaling.betaSlow ?? 1),
        'rope.scaling.attn_factor': float((scaling.attentionFactor ?? own) / own),
      };
    }
    case 'ntk':
      throw new ModelError(
        'UNSUPPORTED_CONFIG',
        'GGUF files cannot say that the base of the rotation is stretched',
      );
    default:
      return {}; // Llama 3's scaling, and any other, is a tensor: see ropeFactors
  }
}

/** What each frequency is divided by, where GGUF says so in the tensor rope_freqs.weight [R / 2]. */
export function ropeFactors({ rope, headDim }: DecoderConfig): Float32Array | undefined {
  if (rope.scaling?.kind !== 'llama3' && rope.scaling?.kind !== 'factors') return undefined;
  const { scaling: _, ...plain } = rope;
  const unscaled = ropeFrequencies(plain, headDim).frequencies;
  const { frequencies } = ropeFrequencies(rope, headDim);
  return frequencies.map((frequency, i) => unscaled[i]! / frequency);
}
