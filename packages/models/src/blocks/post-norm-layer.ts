import type { Backend, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { Decoder } from '../decoder.js';
import { rootMeanSquareNorm } from './norm.js';
import type { LayerBlocks } from './pre-norm-layer.js';

/** Norms of a layer, of what its blocks compute. */
export interface OutputNorms {
  /** [D] */
  readonly attnOutputNorm: Weight;
  /** [D] */
  readonly ffnOutputNorm: Weight;
}

/** Layers that norm what their blocks compute: h = x + norm(attention(x)), then h + norm(feedForward(h)) (OLMo 2, §3). */
export function postNormLayer<A, F>(
  b: Backend,
  w: { readonly layers: readonly (OutputNorms & A & F)[] },
  config: DecoderConfig,
  { attention, feedForward }: LayerBlocks<A, F>,
): Decoder['layer'] {
  const norm = rootMeanSquareNorm(b, config);
  return (x, i, batch, cache) => {
    const layer = w.layers[i]!;
    const h = b.add(x, norm(attention(x, layer, i, batch, cache), layer.attnOutputNorm)); // [T, D]
    return b.add(h, norm(feedForward(h, layer), layer.ffnOutputNorm)); // [T, D]
  };
}
