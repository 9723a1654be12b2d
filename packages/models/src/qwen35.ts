import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture, GgufForm } from './architecture.js';
import { attendCache, projectHeads } from './blocks/attention.js';
import { type DeltaRuleWeights, deltaRule } from './blocks/delta-rule.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { qwen35FromGguf, qwen35FromHuggingFace } from './config/delta-rule.js';
import type { Decoder } from './decoder.js';
import { deltaRuleWeights, gatedAttentionWeights, isDelta } from './delta-rule-weights.js';
import { ModelError } from './error.js';
import type { Qwen3AttentionWeights } from './qwen3.js';
import { qwen3Weights } from './qwen3.js';
import { mapTensors } from './weights/map-tensors.js';
import type { WeightFile } from './weights/weight-file.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const { model, layer } = qwen3Weights;
const { attnNorm, ffnNorm, gate, up, down } = layer;

/** Norms that Hugging Face's files hold without their 1, and the layers' two kinds of attention. */
export const qwen35Layer = {
  attnNorm: { ...attnNorm, huggingFacePlus: 1 },
  ...gatedAttentionWeights,
  ...deltaRuleWeights,
  ffnNorm: { ...ffnNorm, gguf: 'blk.{i}.post_attention_norm.weight', huggingFacePlus: 1 },
} as const satisfies WeightTable['layer'];

export const qwen35Model = {
  ...model,
  outputNorm: { ...model.outputNorm, huggingFacePlus: 1 },
} as const satisfies WeightTable['model'];

const qwen35Weights = {
  model: qwen35Model,
  layer: { ...qwen35Layer, gate, up, down },
} as const satisfies WeightTable;

/**
 * Qwen3.5 (Qwen Team 2026), dense, the language model: a gated delta rule in most layers, attention with a gate in the
 * others. The layer that predicts a further token is not read.
 */
export const qwen35: Architecture = {
  name: 'qwen35',
  names: {
    gguf: ['qwen35'],
    huggingFace: ['Qwen3_5ForConditionalGeneration', 'Qwen3_5ForCausalLM', 'qwen3_5', 'qwen3_5_text'],
  },
  weights: qwen35Weights,
  rename: textOnly,
  gguf: qwen35Form('qwen35'),
  configFromGguf: (source) => qwen35FromGguf(source, { tiled: true }),
  configFromHuggingFace: (source) => qwen35FromHuggingFace(source),
  build: qwen35Decoder,
};

export function qwen35Form(name: string): GgufForm {
  return {
    name,
    rope: 'halves',
    metadata({ deltaRule: rule, layerStates, ropeSections = [] }) {
      const { keyHeads, valueHeads, keyDim, valueDim, taps, tiled } = rule!;
      if (!tiled && keyHeads !== 1 && keyHeads !== valueHeads)
        throw new ModelError(
          'UNSUPPORTED_CONFIG',
          `the delta rule has ${valueHeads} value heads for ${keyHeads} key heads: Quern cannot reorder them for llama.cpp's files`,
        );
      return {
        'ssm.conv_kernel': taps,
        'ssm.state_size': keyDim,
        'ssm.group_count': keyHeads,
        'ssm.time_step_rank': valueHeads,
        'ssm.inner_size': valueHeads * valueDim,
        'attention.recurrent_layers': {
          type: 'array',
          value: layerStates!.map((state) => state !== undefined),
        },
        'rope.dimension_sections': Array.from({ length: 4 }, (_, i) => ropeSections[i] ?? 0),
      };
    },
  };
}

/** Without the tensors of images and of further tokens. */
export function textOnly(file: WeightFile): WeightFile {
  return mapTensors(file, ({ name, ...tensor }) =>
    /^(model\.visual|mtp)\./.test(name)
      ? []
      : [{ ...tensor, name: name.replace('model.language_model.', 'model.') }],
  );
}

interface GatedAttentionWeights extends Qwen3AttentionWeights {
  readonly attnGate: Weight;
}

/** The attention of layer i: a delta rule, or Qwen3's with a gate. x [T, D], normed → [T, D]. */
export function qwen35Attention(b: Backend, config: DecoderConfig) {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);
  const norm = rootMeanSquareNorm(b, config);
  const delta = deltaRule(b, config);
  const gated = (
    x: Tensor,
    w: GatedAttentionWeights,
    i: number,
    batch: AttentionBatch,
    cache: KvCache,
  ): Tensor => {
    const { q, k, v } = project(x, w);
    return attend(
      { q: norm(q, w.qNorm), k: norm(k, w.kNorm), v, gate: b.linear(x, w.attnGate) },
      w,
      i,
      batch,
      cache,
    );
  };
  return (x: Tensor, w: object, i: number, batch: AttentionBatch, cache: KvCache): Tensor =>
    isDelta(config, i)
      ? delta(x, w as DeltaRuleWeights, i, batch, cache)
      : gated(x, w as GatedAttentionWeights, i, batch, cache);
}

function qwen35Decoder(b: Backend, w: LoadedWeights<typeof qwen35Weights>, config: DecoderConfig): Decoder {
  const blocks = { attention: qwen35Attention(b, config), feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: preNormLayer(b, w, config, blocks) };
}
