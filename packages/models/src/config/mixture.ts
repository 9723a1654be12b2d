import { limits, type MixtureConfig } from './decoder-config.js';
import type { GgufSource } from './gguf.js';
import type { Settings } from './settings.js';

/** k (experts per token) and E (experts). */
function readCounts(
  settings: Settings,
  experts: string,
  chosen: string,
  fallback?: readonly [number, number],
) {
  const count = settings.whole(experts, limits.experts, fallback?.[0]);
  return { experts: count, chosen: settings.whole(chosen, count, fallback?.[1]) };
}

/**
 * The mixture of a GGUF file (llama.cpp's keys): layers with a router are sparse.
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function mixtureFromGguf({ settings, weights }: GgufSource, layers: number): MixtureConfig {
  if (settings.has('expert_shared_count') && settings.whole('expert_shared_count', limits.experts, 0, 0) > 0)
    settings.refuse('expert_shared_count', 'shared experts are not supported');
  if (settings.whole('expert_gating_func', 255, 1, 0) > 1)
    settings.refuse('expert_gating_func', 'only softmax (1) is supported');
  if (settings.positive('expert_weights_scale', 1) !== 1)
    settings.refuse('expert_weights_scale', 'scaled mixtures are not supported');
  const width = settings.has('expert_feed_forward_length')
    ? 'expert_feed_forward_length'
    : 'feed_forward_length';
  return {
    ...readCounts(settings, 'expert_count', 'expert_used_count'),
    renormalise: settings.flag('expert_weights_norm') ?? true,
    feedForward: settings.whole(width, limits.feedForward),
    sparse: Array.from({ length: layers }, (_, i) => weights.tensors.has(`blk.${i}.ffn_gate_inp.weight`)),
  };
}

/** Mixtral: every layer is sparse; the k weights sum to 1 (transformers' MixtralConfig). */
export function mixtralMixture(settings: Settings, layers: number): MixtureConfig {
  return {
    ...readCounts(settings, 'num_local_experts', 'num_experts_per_tok', [8, 2]),
    renormalise: true,
    feedForward: settings.whole('intermediate_size', limits.feedForward),
    sparse: Array.from({ length: layers }, () => true),
  };
}

/** Qwen3-MoE: every `decoder_sparse_step`-th layer, except `mlp_only_layers` (transformers' Qwen3MoeConfig). */
export function qwen3MoeMixture(settings: Settings, layers: number): MixtureConfig {
  const count = settings.has('num_experts') ? 'num_experts' : 'num_local_experts';
  const step = settings.whole('decoder_sparse_step', limits.layers, 1);
  const dense = new Set(settings.wholes('mlp_only_layers', limits.layers, [], 0));
  return {
    ...readCounts(settings, count, 'num_experts_per_tok', [128, 8]),
    renormalise: settings.flag('norm_topk_prob') ?? false,
    feedForward: settings.whole('moe_intermediate_size', limits.feedForward, 768),
    sparse: Array.from({ length: layers }, (_, i) => !dense.has(i) && (i + 1) % step === 0),
  };
}
