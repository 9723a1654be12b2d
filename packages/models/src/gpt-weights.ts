// Parts of weight tables: decoders with one tensor for q, k and v, and a feed-forward of two matrices.
import type { DecoderConfig } from './config/decoder-config.js';
import { llamaWeights } from './llama-weights.js';
import type { RowRange, WeightEntry } from './weights/weight-table.js';

type Fields = Partial<WeightEntry>;

/** An entry under another name in Hugging Face files. */
export const renamedEntry = <const F extends Fields>(
  { gguf, shape }: WeightEntry,
  huggingFace: string,
  fields: F = {} as F,
) => ({ gguf, huggingFace, shape, ...fields });

/** Rows of `count` heads from head `from` on in the fused tensor [(H + 2 Hk) · d, D], or in its bias. */
const inQkv = <const F extends Fields>(part: 0 | 1 | 2, huggingFace: string, fields: F) => {
  const end = huggingFace.endsWith('.bias') ? 'bias' : 'weight';
  const count = ({ heads, kvHeads }: DecoderConfig) => [heads, kvHeads, kvHeads][part]!;
  const from = ({ heads, kvHeads }: DecoderConfig) => [0, heads, heads + kvHeads][part]!;
  return {
    gguf: `blk.{i}.attn_qkv.${end}`,
    huggingFace,
    shape: (c: DecoderConfig) => [count(c) * c.headDim, ...(end === 'weight' ? [c.width] : [])],
    rows: (c: DecoderConfig) => ({ from: from(c) * c.headDim, of: (c.heads + 2 * c.kvHeads) * c.headDim }),
    ...fields,
  };
};

/** q, k and v in one matrix; `huggingFace`: its name there. */
export const fusedQkv = <const F extends Fields>(huggingFace: string, fields: F = {} as F) => ({
  q: inQkv(0, huggingFace, fields),
  k: inQkv(1, huggingFace, fields),
  v: inQkv(2, huggingFace, fields),
});

/** The biases of `fusedQkv`. */
export const fusedQkvBiases = <const F extends Fields>(huggingFace: string, fields: F = {} as F) => ({
  qBias: inQkv(0, huggingFace, fields),
  kBias: inQkv(1, huggingFace, fields),
  vBias: inQkv(2, huggingFace, fields),
});

/**
 * Hugging Face's rows of q, k and v by group, in GGUF's order: a group has the query heads of one kv head, then its key,
 * then its value; GGUF has all queries, all keys, all values.
 */
export function rowsByGroup({ heads, kvHeads, headDim }: DecoderConfig): readonly RowRange[] {
  const queries = heads / kvHeads;
  const ofGroups = (first: number, count: number) =>
    Array.from(
      { length: kvHeads },
      (_, g): RowRange => [(g * (queries + 2) + first) * headDim, count * headDim],
    );
  return [...ofGroups(0, queries), ...ofGroups(queries, 1), ...ofGroups(queries + 1, 1)];
}

/** The embedding and the output under other names in Hugging Face files. */
export const renamedEnds = (embedding: string, output = 'lm_head.weight') => ({
  embedding: { ...llamaWeights.model.embedding, huggingFace: embedding },
  output: { ...llamaWeights.model.output, huggingFace: output },
});

/** llama.cpp computes the tanh form of gelu, whatever the model was trained with. */
export const geluDiffers = ({ gelu }: DecoderConfig): string | undefined =>
  gelu === 'erf'
    ? 'computes gelu in its tanh form in this architecture, as Quern does from a GGUF file'
    : undefined;
