import type { DecoderConfig } from './config/decoder-config.js';
import { llamaWeights } from './llama-weights.js';
import type { WeightEntry } from './weights/weight-table.js';

/** Weight and bias of a LayerNorm [D]. `gguf`, `huggingFace`: the name without its end. */
export const layerNormEntries = (gguf: string, huggingFace: string) => {
  const vector = (end: string) =>
    ({
      gguf: `${gguf}.${end}`,
      huggingFace: `${huggingFace}.${end}`,
      shape: (c: DecoderConfig) => [c.width],
    }) as const satisfies WeightEntry;
  return { weight: vector('weight'), bias: vector('bias') };
};

/** The ends of a decoder with LayerNorms; `norm`: the last one's name in Hugging Face files. */
export const layerNormEnds = (norm = 'model.norm') => {
  const { weight, bias } = layerNormEntries('output_norm', norm);
  const readBy = () => ['logits'] as const;
  return {
    ...llamaWeights.model,
    outputNorm: { ...weight, readBy },
    outputNormBias: { ...bias, readBy },
  } as const;
};
