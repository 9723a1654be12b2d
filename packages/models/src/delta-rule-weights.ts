// Parts of weight tables: layers with a gated delta rule, attention with a gate (Qwen3-Next, Qwen3.5).
import type { DecoderConfig, DeltaRuleConfig } from './config/decoder-config.js';
import { qwen3Weights } from './qwen3.js';
import type { RowRange, WeightEntry } from './weights/weight-table.js';

export const isDelta = (c: DecoderConfig, i: number): boolean => c.layerStates?.[i]?.kind === 'state';
const isAttention = (c: DecoderConfig, i: number): boolean => !isDelta(c, i);

const keysOf = ({ keyHeads, keyDim }: DeltaRuleConfig): number => keyHeads * keyDim;
const valuesOf = ({ valueHeads, valueDim }: DeltaRuleConfig): number => valueHeads * valueDim;
const at = (name: string) => `model.layers.{i}.linear_attn.${name}`;

/** Rows of q, k or v in a tensor of all three, [.., columns]. */
const inQkv = (
  part: 0 | 1 | 2,
  gguf: string,
  huggingFace: string,
  columns: (c: DecoderConfig) => number,
) => ({
  gguf,
  huggingFace,
  shape: (c: DecoderConfig) => [part === 2 ? valuesOf(c.deltaRule!) : keysOf(c.deltaRule!), columns(c)],
  rows: ({ deltaRule }: DecoderConfig) => {
    const [keys, values] = [keysOf(deltaRule!), valuesOf(deltaRule!)];
    return { from: part * keys, of: 2 * keys + values };
  },
  when: isDelta,
});

const projection = (part: 0 | 1 | 2) =>
  inQkv(part, 'blk.{i}.attn_qkv.weight', at('in_proj_qkv.weight'), (c) => c.width);
const convolution = (part: 0 | 1 | 2) => ({
  ...inQkv(part, 'blk.{i}.ssm_conv1d.weight', at('conv1d.weight'), (c) => c.deltaRule!.taps),
  uses: () => [],
});

/** A vector or matrix with `rows` rows. */
const entry = <const F extends object>(
  gguf: string,
  huggingFace: string,
  shape: (rule: DeltaRuleConfig, c: DecoderConfig) => readonly number[],
  fields: F = {} as F,
) => ({ gguf, huggingFace, shape: (c: DecoderConfig) => shape(c.deltaRule!, c), when: isDelta, ...fields });

/** `beta` and `decay` differ between the architectures' files. */
export const deltaRuleWeights = {
  deltaQ: projection(0),
  deltaK: projection(1),
  deltaV: projection(2),
  convQ: convolution(0),
  convK: convolution(1),
  convV: convolution(2),
  deltaGate: entry('blk.{i}.attn_gate.weight', at('in_proj_z.weight'), (r, c) => [valuesOf(r), c.width]),
  beta: entry('blk.{i}.ssm_beta.weight', at('in_proj_b.weight'), (r, c) => [r.valueHeads, c.width]),
  decay: entry('blk.{i}.ssm_alpha.weight', at('in_proj_a.weight'), (r, c) => [r.valueHeads, c.width]),
  decayBias: entry('blk.{i}.ssm_dt.bias', at('dt_bias'), (r) => [r.valueHeads]),
  decayFactor: entry('blk.{i}.ssm_a', at('A_log'), (r) => [r.valueHeads], { huggingFaceIsLog: true }),
  deltaNorm: entry('blk.{i}.ssm_norm.weight', at('norm.weight'), (r) => [r.valueDim]),
  deltaOutput: entry('blk.{i}.ssm_out.weight', at('out_proj.weight'), (r, c) => [c.width, valuesOf(r)]),
} as const satisfies Readonly<Record<string, WeightEntry>>;

/** Rows of the queries (0) or gates (1): a head has its queries, then its gates. */
const ofHeads = (part: 0 | 1, { heads, headDim }: DecoderConfig): readonly RowRange[] =>
  Array.from({ length: heads }, (_, h) => [(2 * h + part) * headDim, headDim]);

const withGate = (part: 0 | 1) => ({
  ...qwen3Weights.layer.q,
  rows: (c: DecoderConfig) => ({ ranges: ofHeads(part, c), of: 2 * c.heads * c.headDim }),
  when: isAttention,
});

const { k, v, attnOutput, qNorm, kNorm } = qwen3Weights.layer;

/** Qwen3's attention; a gate beside the queries. */
export const gatedAttentionWeights = {
  q: withGate(0),
  attnGate: withGate(1),
  k: { ...k, when: isAttention },
  v: { ...v, when: isAttention },
  attnOutput: { ...attnOutput, when: isAttention },
  qNorm: { ...qNorm, huggingFacePlus: 1, when: isAttention },
  kNorm: { ...kNorm, huggingFacePlus: 1, when: isAttention },
} as const satisfies Readonly<Record<string, WeightEntry>>;
