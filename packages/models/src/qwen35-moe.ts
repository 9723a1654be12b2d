import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, limits, type MixtureConfig } from './config/decoder-config.js';
import { qwen35FromGguf, qwen35FromHuggingFace } from './config/delta-rule.js';
import type { GgufSource } from './config/gguf.js';
import { qwen3MoeMixture, routedMixtureFromGguf } from './config/mixture.js';
import type { Settings } from './config/settings.js';
import type { Decoder } from './decoder.js';
import { mixtureEntries, sharedEntries, splitExperts } from './mixture-weights.js';
import { qwen35Attention, qwen35Form, qwen35Layer, qwen35Model, textOnly } from './qwen35.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const expertNames = [
  'model.layers.{i}.mlp',
  { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' },
] as const;

export const qwen35MoeWeights = {
  model: qwen35Model,
  layer: {
    ...qwen35Layer,
    ...mixtureEntries(...expertNames),
    ...sharedEntries('model.layers.{i}.mlp.shared_expert'),
    sharedRouter: {
      gguf: 'blk.{i}.ffn_gate_inp_shexp.weight',
      huggingFace: 'model.layers.{i}.mlp.shared_expert_gate.weight',
      shape: (c) => [1, c.width],
    },
  },
} as const satisfies WeightTable;

/** Weights of the chosen experts sum to 1. */
export const qwen35Mixture = ({ settings, ...source }: GgufSource, layers: number): MixtureConfig => ({
  ...routedMixtureFromGguf({ ...source, settings }, layers),
  renormalise: true,
});

function mixtureFromHuggingFace(settings: Settings, layers: number): MixtureConfig {
  const known = settings.withDefaults({ norm_topk_prob: true, num_experts: 256, moe_intermediate_size: 512 });
  const shared = known.whole('shared_expert_intermediate_size', limits.feedForward, 512);
  return { ...qwen3MoeMixture(known, layers), sharedFeedForward: shared };
}

const split = splitExperts(...expertNames);

/** Qwen3.5 with experts, one of them shared and gated (Qwen Team 2026), the language model. */
export const qwen35Moe: Architecture = {
  name: 'qwen35moe',
  names: {
    gguf: ['qwen35moe'],
    huggingFace: [
      'Qwen3_5MoeForConditionalGeneration',
      'Qwen3_5MoeForCausalLM',
      'qwen3_5_moe',
      'qwen3_5_moe_text',
    ],
  },
  weights: qwen35MoeWeights,
  rename: (file) => split(textOnly(file)),
  gguf: { ...qwen35Form('qwen35moe'), routed: true },
  configFromGguf: (source) => qwen35FromGguf(source, { tiled: true, mixture: qwen35Mixture }),
  configFromHuggingFace: ({ settings, weights }) => {
    const text = settings.section('text_config') ?? settings;
    const known = text.has('intermediate_size')
      ? settings
      : settings.withDefaults({ intermediate_size: 512 });
    return qwen35FromHuggingFace({ settings: known, weights }, { mixture: mixtureFromHuggingFace });
  },
  build: qwen35MoeDecoder,
};

export function qwen35MoeDecoder(
  b: Backend,
  w: LoadedWeights<typeof qwen35MoeWeights>,
  config: DecoderConfig,
): Decoder {
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, qwen35Attention(b, config)) };
}
