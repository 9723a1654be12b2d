import { bert, bertEncoder } from './bert.js';
import { bertWeights } from './bert-weights.js';
import type { EncoderArchitecture } from './encoder.js';

const { positions: _, ...model } = bertWeights.model;

/** Jina's embeddings v3 (Sturua et al. 2024) in GGUF files: BERT with rotary positions. */
export const jinaBertV3: EncoderArchitecture = {
  ...bert,
  name: 'jina-bert-v3',
  names: { gguf: ['jina-bert-v3'], huggingFace: [] },
  weights: { model, layer: bertWeights.layer },
  gguf: { name: 'jina-bert-v3' },
  build: bertEncoder,
};
