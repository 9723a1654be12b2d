import type { Architecture } from './architecture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { mixtralWindows } from './config/windows.js';
import { llamaDecoder } from './llama.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightEntry, WeightTable } from './weights/weight-table.js';

const { attnNorm, attnOutput, ffnNorm, down } = llamaWeights.layer;

/** Rows of `count` heads from head `from` on in the fused q, k, v: [(H + 2 Hk) · d, D]. */
const inQkv = (from: (c: DecoderConfig) => number, count: (c: DecoderConfig) => number) =>
  ({
    gguf: 'blk.{i}.attn_qkv.weight',
    huggingFace: 'model.layers.{i}.self_attn.qkv_proj.weight',
    shape: (c) => [count(c) * c.headDim, c.width],
    rows: (c) => ({ from: from(c) * c.headDim, of: (c.heads + 2 * c.kvHeads) * c.headDim }),
  }) as const satisfies WeightEntry;

/** The gate (0) or up (1) half of the fused [2 F, D]. */
const inGateUp = (half: 0 | 1) =>
  ({
    gguf: 'blk.{i}.ffn_up.weight',
    huggingFace: 'model.layers.{i}.mlp.gate_up_proj.weight',
    shape: (c) => [c.feedForward, c.width],
    rows: (c) => ({ from: half * c.feedForward, of: 2 * c.feedForward }),
  }) as const satisfies WeightEntry;

/** Llama's parameters without biases; q, k, v are fused into one tensor, gate and up into another. */
export const phi3Weights = {
  model: llamaWeights.model,
  layer: {
    ...{ attnNorm, attnOutput, ffnNorm, down },
    q: inQkv(
      () => 0,
      (c) => c.heads,
    ),
    k: inQkv(
      (c) => c.heads,
      (c) => c.kvHeads,
    ),
    v: inQkv(
      (c) => c.heads + c.kvHeads,
      (c) => c.kvHeads,
    ),
    gate: inGateUp(0),
    up: inGateUp(1),
  },
} as const satisfies WeightTable;

/**
 * Phi-3 and Phi-4-mini (Abdin et al. 2024, 2025): Llama with partial rotation of heads; LongRoPE in models of long
 * context.
 */
export const phi3: Architecture = {
  name: 'phi3',
  names: { gguf: ['phi3'], huggingFace: ['Phi3ForCausalLM', 'phi3'] },
  weights: phi3Weights,
  gguf: {
    name: 'phi3',
    rope: 'halves',
    llamaCppDiffers: ({ windows, context }) =>
      windows.some((window) => window > 0 && window < context)
        ? `has no windows in this architecture: it looks back further than ${Math.max(...windows)} tokens`
        : undefined,
  },
  configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  configFromHuggingFace: ({ settings, ...source }) => {
    refuseBiases(settings);
    const known = settings.withDefaults({ rms_norm_eps: 1e-5, max_position_embeddings: 4096 }); // defaults of Phi3Config
    return decoderConfigFromHuggingFace({ ...source, settings: known }, mixtralWindows, {
      partialRotary: true,
    });
  },
  build: llamaDecoder, // the layer is Llama's
};

function refuseBiases(settings: Settings): void {
  for (const key of ['attention_bias', 'lm_head_bias'])
    if (settings.flag(key)) settings.refuse(key, 'the projections of this architecture have no bias');
}
