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
  return plainMixture({ settings, weights }, layers);
}

function plainMixture({ settings, weights }: Pick<GgufSource, 'settings' | 'weights'>, layers: number) {
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

/**
 * The mixture of a GGUF file whose architecture has every kind of router, and shared experts. llama.cpp's defaults: a
 * softmax, not normalised.
 * @throws ModelError BAD_CONFIG or UNSUPPORTED_CONFIG.
 */
export function routedMixtureFromGguf(source: GgufSource, layers: number): MixtureConfig {
  const settings = source.settings.withDefaults({ expert_weights_norm: false });
  const mixture = plainMixture({ ...source, settings }, layers);
  const gating = settings.whole('expert_gating_func', 255, 1, 0);
  if (gating > 2) settings.refuse('expert_gating_func', 'only softmax (1) and sigmoid (2) are supported');
  const shared = settings.whole('expert_shared_count', limits.experts, 0, 0);
  const sharedKey = 'expert_shared_feed_forward_length';
  const sharedWidth = settings.whole(sharedKey, limits.feedForward, shared * mixture.feedForward, 0);
  const keys = ['expert_group_count', 'expert_group_used_count', 'expert_weights_scale'] as const;
  return { ...mixture, ...readRouter(settings, keys, mixture.experts, gating === 2, sharedWidth) };
}

/** The parts of a mixture that plain ones lack. */
function readRouter(
  settings: Settings,
  [groupCount, groupsChosen, weightScale]: readonly [count: string, chosen: string, scale: string],
  experts: number,
  sigmoid: boolean,
  sharedFeedForward: number,
): Partial<MixtureConfig> {
  const count = settings.whole(groupCount, experts, 1, 0);
  const chosen = settings.whole(groupsChosen, Math.max(count, 1), Math.max(count, 1), 0);
  if (count > 1 && experts % count !== 0) settings.fail(groupCount, `a divisor of ${experts} experts`);
  const scale = settings.number(weightScale, 1) || 1;
  return {
    ...(sigmoid && { score: 'sigmoid' }),
    ...(chosen < count && { groups: { count, chosen } }),
    ...(scale !== 1 && { scale }),
    ...(sharedFeedForward > 0 && { sharedFeedForward }),
  };
}

/** DeepSeek-V3's keys, which GLM-4.5 has too: a sigmoid; the first layers are dense (transformers' Glm4MoeConfig). */
export function deepSeekMixture(settings: Settings, layers: number): MixtureConfig {
  const counts = readCounts(settings, 'n_routed_experts', 'num_experts_per_tok');
  const feedForward = settings.whole('moe_intermediate_size', limits.feedForward);
  const dense = settings.whole('first_k_dense_replace', limits.layers, 0, 0);
  const shared = settings.whole('n_shared_experts', limits.experts, 0, 0);
  const keys = ['n_group', 'topk_group', 'routed_scaling_factor'] as const;
  return {
    ...counts,
    renormalise: settings.flag('norm_topk_prob') ?? true,
    feedForward,
    sparse: Array.from({ length: layers }, (_, i) => i >= dense),
    ...readRouter(settings, keys, counts.experts, true, shared * feedForward),
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
