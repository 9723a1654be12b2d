import type { AttentionBatch, Backend, KvCache, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Decoder } from '../decoder.js';
import { type SparseWeights, sparseFeedForward } from './mixture.js';
import { rootMeanSquareNorm } from './norm.js';

/** Layers of a pre-norm decoder with experts in some or all: h = x + attention(norm(x)), then h + experts(norm(h)). */
export function sparseLayer<A>(
  b: Backend,
  w: {
    readonly layers: readonly ({ readonly attnNorm: Weight; readonly ffnNorm: Weight } & SparseWeights & A)[];
  },
  config: DecoderConfig,
  attention: (x: Tensor, layer: A, i: number, batch: AttentionBatch, cache: KvCache) => Tensor,
): Decoder['layer'] {
  const experts = sparseFeedForward(b, config);
  const norm = rootMeanSquareNorm(b, config);
  return (x, i, batch, cache) => {
    const layer = w.layers[i]!;
    const h = b.add(x, attention(norm(x, layer.attnNorm), layer, i, batch, cache)); // [T, D]
    return experts(norm(h, layer.ffnNorm), h, i, layer); // [T, D]
  };
}
