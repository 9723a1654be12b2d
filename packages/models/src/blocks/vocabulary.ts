import type { Backend, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Decoder } from '../decoder.js';
import { modelNorm } from './norm.js';

/** The weights between token ids and the residual stream. */
export interface VocabularyWeights {
  /** [V, D] */
  readonly embedding: Weight;
  /** [D] */
  readonly outputNorm: Weight;
  /** [D], of a LayerNorm. */
  readonly outputNormBias?: Weight | undefined;
  /** [V, D]; absent: tied to the embedding (Press & Wolf 2017). */
  readonly output?: Weight | undefined;
  /** [V] */
  readonly outputBias?: Weight | undefined;
}

/** Both ends of a decoder: the embedding, and the output norm with its projection. */
export function embedAndLogits(
  b: Backend,
  w: VocabularyWeights,
  config: DecoderConfig,
): { embed(ids: Tensor): Tensor } & Required<Pick<Decoder, 'norm' | 'logits'>> {
  const normed = modelNorm(b, config);
  const norm = (x: Tensor) => normed(x, w.outputNorm, w.outputNormBias); // [R, D]
  return {
    embed: (ids: Tensor) => b.embed(w.embedding, ids), // [T, D]
    norm,
    logits: (x: Tensor) => b.linear(norm(x), w.output ?? w.embedding, { bias: w.outputBias }), // [R, V]
  };
}
