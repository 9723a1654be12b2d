import { gemma3, gemma3FromHuggingFace } from '../gemma3.js';
import { decoderAsEncoder } from './decoder-as-encoder.js';

/**
 * EmbeddingGemma (Schechter Vera et al. 2025): Gemma 3, whose rows see their whole text or a window to both sides; two
 * matrices follow the pooling.
 */
export const embeddingGemma = decoderAsEncoder(
  {
    ...gemma3,
    name: 'gemma-embedding',
    names: { gguf: ['gemma-embedding'], huggingFace: ['Gemma3TextModel'] },
    gguf: { name: 'gemma-embedding', rope: 'halves', windowPeriod: 6 },
    configFromHuggingFace: gemma3FromHuggingFace,
  },
  false,
);
