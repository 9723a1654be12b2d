import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { Architecture, GgufForm } from './architecture.js';
import { attendCache, projectHeads } from './blocks/attention.js';
import { type DeltaRuleWeights, deltaRule, deltaRuleState } from './blocks/delta-rule.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
import { preNormLayer } from './blocks/pre-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import { type DecoderConfig, type DeltaRuleConfig, limits } from './config/decoder-config.js';
import { decoderConfigFromGguf, type GgufRules, type GgufSource } from './config/gguf.js';
import {
  decoderConfigFromHuggingFace,
  type HuggingFaceRules,
  type HuggingFaceSource,
} from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
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

const withDelta = (config: DecoderConfig, rule: DeltaRuleConfig, is: readonly boolean[]): DecoderConfig => ({
  ...config,
  deltaRule: rule,
  layerStates: is.map((delta) => (delta ? deltaRuleState(rule) : undefined)),
});

/** llama.cpp's keys. @param tiled the order of the value heads in such files */
export function qwen35FromGguf(
  source: GgufSource,
  { tiled, ...rules }: GgufRules & Pick<DeltaRuleConfig, 'tiled'>,
): DecoderConfig {
  const { settings } = source;
  const config = decoderConfigFromGguf(source, 'halves', { ...rules, nextN: true });
  const valueHeads = settings.whole('ssm.time_step_rank', limits.heads);
  const keyHeads = settings.whole('ssm.group_count', limits.heads);
  const inner = settings.whole('ssm.inner_size', limits.feedForward);
  if (valueHeads % keyHeads !== 0)
    settings.fail('ssm.time_step_rank', `a multiple of ssm.group_count, which is ${keyHeads}`);
  if (inner % valueHeads !== 0)
    settings.fail('ssm.inner_size', `a multiple of ssm.time_step_rank, which is ${valueHeads}`);
  const keyDim = settings.whole('ssm.state_size', limits.headDim);
  const taps = settings.whole('ssm.conv_kernel', 1024, undefined, 2);
  const rule = { keyHeads, valueHeads, keyDim, valueDim: inner / valueHeads, taps, tiled };
  const sections = settings.wholes('rope.dimension_sections', 2 ** 14, undefined, 0);
  const isDeltaLayer =
    settings.flags('attention.recurrent_layers') ??
    everyNth(settings, 'full_attention_interval', config.layers);
  return withDelta(
    { ...config, ...(sections && { ropeSections: sections }) },
    rule,
    isDeltaLayer.slice(0, config.layers),
  );
}

/** All layers but every n-th. */
const everyNth = (settings: Settings, key: string, layers: number): readonly boolean[] => {
  const n = settings.whole(key, limits.layers, 4);
  return Array.from({ length: layers }, (_, i) => (i + 1) % n !== 0);
};

/** @param more rules of a mixture */
export function qwen35FromHuggingFace(
  { settings, weights }: HuggingFaceSource,
  more: HuggingFaceRules = {},
): DecoderConfig {
  const text = (settings.section('text_config') ?? settings).withDefaults(defaults);
  const tied = settings.flag('tie_word_embeddings') ?? text.flag('tie_word_embeddings');
  const rules = { ...more, partialRotary: true } as const;
  const config = decoderConfigFromHuggingFace({ settings: text, weights }, noWindows, rules);
  const rope = text.section('rope_parameters') ?? text.section('rope_scaling') ?? text;
  const sections = rope.wholes('mrope_section', 2 ** 14, undefined, 0);
  const types = text.texts('layer_types');
  if (
    types &&
    (types.length !== config.layers || !types.every((type) => /^(linear|full)_attention$/.test(type)))
  )
    text.fail('layer_types', `${config.layers} times linear_attention or full_attention`);
  const is =
    types?.map((type) => type === 'linear_attention') ??
    everyNth(text, 'full_attention_interval', config.layers);
  const [keyHeads, valueHeads] = [
    text.whole('linear_num_key_heads', limits.heads),
    text.whole('linear_num_value_heads', limits.heads),
  ];
  if (valueHeads % keyHeads !== 0)
    text.fail('linear_num_value_heads', `a multiple of linear_num_key_heads, which is ${keyHeads}`);
  const rule: DeltaRuleConfig = {
    ...{ keyHeads, valueHeads, tiled: false },
    keyDim: text.whole('linear_key_head_dim', limits.headDim),
    valueDim: text.whole('linear_value_head_dim', limits.headDim),
    taps: text.whole('linear_conv_kernel_dim', 1024, undefined, 2),
  };
  return withDelta(
    { ...config, ...(tied !== undefined && { tied }), ...(sections && { ropeSections: sections }) },
    rule,
    is,
  );
}

/** Of transformers' Qwen3_5TextConfig. */
const defaults = {
  ...{ num_key_value_heads: 4, head_dim: 256, max_position_embeddings: 32_768, partial_rotary_factor: 0.25 },
  ...{ linear_conv_kernel_dim: 4, linear_key_head_dim: 128, linear_value_head_dim: 128 },
  ...{ linear_num_key_heads: 16, linear_num_value_heads: 32 },
};

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
