// The configuration of models with a gated delta rule: Qwen3-Next, Qwen3.5.
import { deltaRuleState } from '../blocks/delta-rule.js';
import { type DecoderConfig, type DeltaRuleConfig, limits } from './decoder-config.js';
import { decoderConfigFromGguf, type GgufRules, type GgufSource } from './gguf.js';
import {
  decoderConfigFromHuggingFace,
  type HuggingFaceRules,
  type HuggingFaceSource,
} from './hugging-face.js';
import type { Settings } from './settings.js';
import { noWindows } from './windows.js';

/** @param key where a model without attention is refused */
function withDelta(
  config: DecoderConfig,
  rule: DeltaRuleConfig,
  is: readonly boolean[],
  [settings, key]: readonly [settings: Settings, key: string],
): DecoderConfig {
  if (is.every((delta) => delta)) settings.fail(key, 'a layer with attention at least');
  return {
    ...config,
    deltaRule: rule,
    layerStates: is.map((delta) => (delta ? deltaRuleState(rule) : undefined)),
  };
}

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
  const flags = settings.flags('attention.recurrent_layers');
  if (flags && flags.length < config.layers)
    settings.fail('attention.recurrent_layers', `a flag for each of ${config.layers} layers`);
  const isDeltaLayer = flags ?? everyNth(settings, 'full_attention_interval', config.layers);
  return withDelta(
    { ...config, ...(sections && { ropeSections: sections }) },
    rule,
    isDeltaLayer.slice(0, config.layers),
    [settings, flags ? 'attention.recurrent_layers' : 'full_attention_interval'],
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
    [text, types ? 'layer_types' : 'full_attention_interval'],
  );
}

/** Of transformers' Qwen3_5TextConfig. */
const defaults = {
  ...{ num_key_value_heads: 4, head_dim: 256, max_position_embeddings: 32_768, partial_rotary_factor: 0.25 },
  ...{ linear_conv_kernel_dim: 4, linear_key_head_dim: 128, linear_value_head_dim: 128 },
  ...{ linear_num_key_heads: 16, linear_num_value_heads: 32 },
};
