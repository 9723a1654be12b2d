import type { AttentionBatch, Backend, KvCache, LayerState, Tensor, Weight } from '@quern/core';
import type { Architecture } from './architecture.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { lfm2FromGguf, lfm2FromHuggingFace } from './config/lfm2.js';
import type { Decoder } from './decoder.js';
import { renamedEntry } from './gpt-weights.js';
import { type Qwen3AttentionWeights, qwen3Attention, qwen3Weights } from './qwen3.js';
import type { LoadedWeights, WeightEntry, WeightTable } from './weights/weight-table.js';

const isConv = (c: DecoderConfig, i: number): boolean => c.layerStates?.[i] !== undefined;
const keepsKeys = (c: DecoderConfig, i: number): boolean => !isConv(c, i);
/** L, the inputs of a convolution. */
const taps = (c: DecoderConfig): number => {
  const state = c.layerStates!.find((some) => some?.kind === 'state') as Extract<
    LayerState,
    { kind: 'state' }
  >;
  return state.parts.conv!.heads + 1;
};

const attentionEntry = (entry: WeightEntry, name: string) =>
  renamedEntry(entry, `model.layers.{i}.self_attn.${name}.weight`, { when: keepsKeys });

/** Part `part` of the fused projection [3 · D, D]. */
const inProjection = (part: number) => ({
  gguf: 'blk.{i}.shortconv.in_proj.weight',
  huggingFace: 'model.layers.{i}.conv.in_proj.weight',
  shape: (c: DecoderConfig) => [c.width, c.width],
  rows: (c: DecoderConfig) => ({ from: part * c.width, of: 3 * c.width }),
  when: isConv,
});

const { model, layer } = qwen3Weights;
const lfm2Weights = {
  model: {
    ...model,
    outputNorm: {
      ...model.outputNorm,
      gguf: 'token_embd_norm.weight',
      huggingFace: 'model.embedding_norm.weight',
    },
  },
  layer: {
    attnNorm: renamedEntry(layer.attnNorm, 'model.layers.{i}.operator_norm.weight'),
    q: attentionEntry(layer.q, 'q_proj'),
    k: attentionEntry(layer.k, 'k_proj'),
    v: attentionEntry(layer.v, 'v_proj'),
    attnOutput: attentionEntry(layer.attnOutput, 'out_proj'),
    qNorm: attentionEntry(layer.qNorm, 'q_layernorm'),
    kNorm: attentionEntry(layer.kNorm, 'k_layernorm'),
    before: inProjection(0),
    after: inProjection(1),
    input: inProjection(2),
    conv: {
      gguf: 'blk.{i}.shortconv.conv.weight',
      huggingFace: 'model.layers.{i}.conv.conv.weight',
      shape: (c) => [c.width, taps(c)],
      uses: () => [],
      when: isConv,
    },
    output: {
      gguf: 'blk.{i}.shortconv.out_proj.weight',
      huggingFace: 'model.layers.{i}.conv.out_proj.weight',
      shape: (c) => [c.width, c.width],
      when: isConv,
    },
    ffnNorm: renamedEntry(layer.ffnNorm, 'model.layers.{i}.ffn_norm.weight'),
    gate: renamedEntry(layer.gate, 'model.layers.{i}.feed_forward.w1.weight'),
    up: renamedEntry(layer.up, 'model.layers.{i}.feed_forward.w3.weight'),
    down: renamedEntry(layer.down, 'model.layers.{i}.feed_forward.w2.weight'),
  },
} as const satisfies WeightTable;

/** LFM2 (Liquid AI 2025): short gated convolutions in most layers, Qwen3's attention in the others. */
export const lfm2: Architecture = {
  name: 'lfm2',
  names: { gguf: ['lfm2'], huggingFace: ['Lfm2ForCausalLM', 'lfm2'] },
  weights: lfm2Weights,
  gguf: {
    name: 'lfm2',
    rope: 'halves',
    metadata: (config) => ({
      'shortconv.l_cache': taps(config),
      'attention.head_count_kv': {
        type: 'array',
        value: Array.from({ length: config.layers }, (_, i) => (isConv(config, i) ? 0 : config.kvHeads)),
      },
    }),
  },
  configFromGguf: lfm2FromGguf,
  configFromHuggingFace: lfm2FromHuggingFace,
  build: lfm2Decoder,
};

type ConvWeights = Readonly<Record<'before' | 'after' | 'input' | 'conv' | 'output', Weight>>;

/** x [T, D], normed → after · conv(before · input), projected: [T, D]. */
const gatedConv =
  (b: Backend) =>
  (x: Tensor, w: ConvWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const gated = b.mul(b.linear(x, w.before), b.linear(x, w.input)); // [T, D]
    const y = b.shortConv(gated, w.conv, cache.state(i, 'conv'), batch); // [T, D]
    return b.linear(b.mul(b.linear(x, w.after), y), w.output); // [T, D]
  };

function lfm2Decoder(b: Backend, w: LoadedWeights<typeof lfm2Weights>, config: DecoderConfig): Decoder {
  const attend = qwen3Attention(b, config);
  const convolve = gatedConv(b);
  const attention = (x: Tensor, layer: object, i: number, batch: AttentionBatch, cache: KvCache): Tensor =>
    isConv(config, i)
      ? convolve(x, layer as ConvWeights, i, batch, cache)
      : attend(x, layer as Qwen3AttentionWeights, i, batch, cache);
  const blocks = { attention, feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
