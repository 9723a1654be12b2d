import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { MetadataInput } from '@quern/quant';
import type { Architecture } from './architecture.js';
import { attendCache, projectHeads } from './blocks/attention.js';
import { swigluFeedForward } from './blocks/feed-forward.js';
import { rootMeanSquareNorm } from './blocks/norm.js';
import { postNormLayer } from './blocks/post-norm-layer.js';
import { embedAndLogits } from './blocks/vocabulary.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { decoderConfigFromGguf } from './config/gguf.js';
import { decoderConfigFromHuggingFace, type HuggingFaceSource } from './config/hugging-face.js';
import type { Settings } from './config/settings.js';
import { noWindows } from './config/windows.js';
import type { Decoder } from './decoder.js';
import { exaone4Weights } from './exaone4.js';
import type { Qwen3AttentionWeights } from './qwen3.js';
import type { LoadedWeights, WeightTable } from './weights/weight-table.js';

const { qNorm, kNorm, ...others } = exaone4Weights.layer;

/** EXAONE 4's parameters; a norm of q or k spans all its heads. */
export const olmo2Weights = {
  model: exaone4Weights.model,
  layer: {
    ...others,
    qNorm: { ...qNorm, shape: (c) => [c.heads * c.headDim] },
    kNorm: { ...kNorm, shape: (c) => [c.kvHeads * c.headDim] },
  },
} as const satisfies WeightTable;

/** Of OLMo 3 in llama.cpp and transformers: three of four layers have a window. */
export const windowPeriod = 4;

/** OLMo 2 (OLMo Team 2024, 2 OLMo 2 Furious): norms after the blocks, and on q and k. GGUF files of OLMo 3 have its name. */
export const olmo2 = {
  name: 'olmo2',
  names: { gguf: ['olmo2'], huggingFace: ['Olmo2ForCausalLM', 'olmo2'] },
  weights: olmo2Weights,
  gguf: { name: 'olmo2', rope: 'halves', windowPeriod, metadata: yarnMagnitude },
  configFromGguf: (source) => withPlainWindows(decoderConfigFromGguf(source, 'halves', { windowPeriod })),
  configFromHuggingFace: (source) => olmoFromHuggingFace(source, noWindows),
  build: olmo2Decoder,
} satisfies Architecture;

/** What llama.cpp's converter writes; llama.cpp reads `attn_factor` instead. */
function yarnMagnitude({ rope: { scaling } }: DecoderConfig): Readonly<Record<string, MetadataInput>> {
  if (scaling?.kind !== 'yarn') return {};
  const value = scaling.attentionFactor ?? 0.1 * Math.log(scaling.factor) + 1;
  return { 'rope.scaling.yarn_attn_factor': { type: 'float32', value } };
}

/** RoPE is scaled in layers with full attention alone (OLMo 3). */
export function withPlainWindows(config: DecoderConfig): DecoderConfig {
  const { scaling, ...plain } = config.rope;
  const hasWindows = config.windows.some((window) => window > 0);
  return scaling && hasWindows ? { windowRope: plain, ...config } : config;
}

/** The configuration of OLMo 2 or 3 from config.json. */
export function olmoFromHuggingFace(
  { settings, ...source }: HuggingFaceSource,
  windows: (settings: Settings, layers: number) => readonly number[],
): DecoderConfig {
  const known = settings.withDefaults({ rms_norm_eps: 1e-5 }); // of Olmo2Config
  if (known.has('clip_qkv')) known.refuse('clip_qkv', 'values are not clipped');
  return decoderConfigFromHuggingFace({ ...source, settings: known }, windows);
}

/** Attention with RMSNorms over all heads of q and of k. x [T, D] → [T, D]. */
export function olmo2Attention(b: Backend, config: DecoderConfig) {
  const project = projectHeads(b, config);
  const attend = attendCache(b, config);
  const norm = rootMeanSquareNorm(b, config);
  const normed = (x: Tensor, weight: Weight): Tensor => {
    const [T, heads, d] = x.shape as readonly [number, number, number];
    return b.view(norm(b.view(x, [T, heads * d]), weight), x.shape); // [T, H, d]
  };

  return (x: Tensor, w: Qwen3AttentionWeights, i: number, batch: AttentionBatch, cache: KvCache): Tensor => {
    const { q, k, v } = project(x, w); // [T, H, d], [T, Hk, d], [T, Hk, d]
    return attend({ q: normed(q, w.qNorm), k: normed(k, w.kNorm), v }, w, i, batch, cache);
  };
}

export function olmo2Decoder(
  b: Backend,
  w: LoadedWeights<typeof olmo2Weights>,
  config: DecoderConfig,
): Decoder {
  const blocks = { attention: olmo2Attention(b, config), feedForward: swigluFeedForward(b) };
  return { ...embedAndLogits(b, w, config), layer: postNormLayer(b, w, config, blocks) };
}
