import type { Architecture } from './architecture.js';
import type { DecoderConfig } from './config/decoder-config.js';
import { qwen35FromGguf } from './config/delta-rule.js';
import { qwen35Mixture, qwen35Moe, qwen35MoeDecoder, qwen35MoeWeights } from './qwen35-moe.js';
import type { RowRange, WeightTable } from './weights/weight-table.js';

/** Rows of beta (0) or decay (1) in a tensor of both: those of each key head's value heads, side by side. */
const inBoth = (
  part: 0 | 1,
  { keyHeads, valueHeads }: NonNullable<DecoderConfig['deltaRule']>,
): readonly RowRange[] => {
  const count = valueHeads / keyHeads;
  return Array.from({ length: keyHeads }, (_, g) => [(2 * g + part) * count, count]);
};
const { layer } = qwen35MoeWeights;
const gateEntry = (part: 0 | 1) => ({
  ...layer.beta,
  gguf: 'blk.{i}.ssm_ba.weight',
  rows: ({ deltaRule }: DecoderConfig) => ({
    ranges: inBoth(part, deltaRule!),
    of: 2 * deltaRule!.valueHeads,
  }),
});

const qwen3NextWeights = {
  model: qwen35MoeWeights.model,
  layer: { ...layer, beta: gateEntry(0), decay: gateEntry(1) },
} as const satisfies WeightTable;

/** Qwen3-Next (Qwen Team 2025): Qwen3.5's layers, with the value heads of a key head side by side. */
export const qwen3Next: Architecture = {
  ...qwen35Moe,
  name: 'qwen3next',
  names: { gguf: ['qwen3next'], huggingFace: ['Qwen3NextForCausalLM', 'qwen3_next'] },
  weights: qwen3NextWeights,
  configFromGguf: (source) => qwen35FromGguf(source, { tiled: false, mixture: qwen35Mixture }),
  configFromHuggingFace: ({ settings }) =>
    settings.refuse(
      'model_type',
      "Quern reads Qwen3-Next from GGUF files: a folder's projections have q, k, v and gates of each head in turn",
    ),
  build: qwen35MoeDecoder,
};
