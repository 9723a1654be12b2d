import type { Backend } from '@quern/core';
import type { Architecture } from './architecture.js';
import { selfAttention } from './blocks/attention.js';
import { sparseLayer } from './blocks/sparse-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf, type GgufSource } from './config/gguf.js';
import { mixtureFromGguf } from './config/mixture.js';
import type { Decoder } from './decoder.js';
import { llamaWeights } from './llama-weights.js';
import { mixtureEntries } from './mixture-weights.js';
import type { LoadedWeights, WeightEntry, WeightTable } from './weights/weight-table.js';

const names = ['model.layers.{i}.mlp', { gate: 'gate_proj', up: 'up_proj', down: 'down_proj' }] as const;

/** Biases of a stack's matrices, [E, N]: a row per expert. */
const stackBias = (name: string, width: (config: DecoderConfig) => number) =>
  ({
    gguf: `blk.{i}.${name}.bias`,
    huggingFace: `model.layers.{i}.mlp.${name}.bias`,
    shape: (c) => [c.mixture!.experts, width(c)],
    uses: () => ['embed'],
    used: (c) => c.mixture!.chosen / c.mixture!.experts,
  }) as const satisfies WeightEntry;

const { ffnNorm, gate: _gate, up: _up, down: _down, ...attention } = llamaWeights.layer;

/** Llama's attention with biases and sinks; a mixture whose router and experts have biases. */
export const gptOssWeights = {
  model: llamaWeights.model,
  layer: {
    ...attention,
    sinks: {
      gguf: 'blk.{i}.attn_sinks.weight',
      huggingFace: 'model.layers.{i}.self_attn.sinks',
      shape: (c) => [c.heads],
    },
    ffnNorm: { ...ffnNorm, gguf: 'blk.{i}.post_attention_norm.weight' },
    ...mixtureEntries(...names),
    routerBias: {
      gguf: 'blk.{i}.ffn_gate_inp.bias',
      huggingFace: 'model.layers.{i}.mlp.router.bias',
      shape: (c) => [c.mixture!.experts],
    },
    gateExpertsBias: stackBias('ffn_gate_exps', (c) => c.mixture!.feedForward),
    upExpertsBias: stackBias('ffn_up_exps', (c) => c.mixture!.feedForward),
    downExpertsBias: stackBias('ffn_down_exps', (c) => c.width),
  },
} as const satisfies WeightTable;

/**
 * gpt-oss (OpenAI 2025): every other layer has a window of 128 tokens, each head a sink; experts with clamped gates,
 * stored as MXFP4.
 */
export const gptOss = {
  name: 'gpt-oss',
  names: { gguf: ['gpt-oss'], huggingFace: ['GptOssForCausalLM', 'gpt_oss'] },
  weights: gptOssWeights,
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves', { windowPeriod: 2, mixture }),
  configFromHuggingFace: ({ settings }) =>
    settings.refuse(
      'model_type',
      'gpt-oss is read from GGUF files; the experts of its folders are not read yet',
    ),
  build: gptOssDecoder,
} satisfies Architecture;

/** Every layer has experts. The k weights are a softmax over the k scores; alpha and limit are the architecture's constants. */
const mixture = (source: GgufSource, layers: number) => ({
  ...mixtureFromGguf(source, layers),
  sparse: Array.from({ length: layers }, () => true),
  renormalise: true,
  clamped: { alpha: 1.702, limit: 7 },
});

function gptOssDecoder(b: Backend, w: LoadedWeights<typeof gptOssWeights>, config: DecoderConfig): Decoder {
  return { ...embedAndLogits(b, w, config), layer: sparseLayer(b, w, config, selfAttention(b, config)) };
}
