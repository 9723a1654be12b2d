import { decoderConfigFromGguf } from '../config/gguf.js';
import { llama } from '../llama.js';
import { decoderAsEncoder } from './decoder-as-encoder.js';

/** EuroBERT (Boizard et al. 2025): Llama's layers, whose rows see their whole text. */
export const euroBert = decoderAsEncoder(
  {
    ...llama,
    name: 'eurobert',
    names: { gguf: ['eurobert'], huggingFace: ['EuroBertModel', 'EuroBertForMaskedLM', 'eurobert'] },
    gguf: { name: 'eurobert', rope: 'halves' },
    configFromGguf: (source) => decoderConfigFromGguf(source, 'halves'),
  },
  false,
);
