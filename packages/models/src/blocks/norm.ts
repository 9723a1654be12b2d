import type { Backend, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';

/**
 * The norm of a model: LayerNorm where a bias comes with the weight, else RMSNorm; with the model's epsilon (Ba et al.
 * 2016, eq. 4; Zhang & Sennrich 2019, eq. 4).
 */
export function modelNorm(b: Backend, { normEps }: Pick<DecoderConfig, 'normEps'>) {
  return (x: Tensor, w: Weight, bias?: Weight): Tensor =>
    bias ? b.layerNorm(x, w, bias, { eps: normEps }) : b.rmsNorm(x, w, { eps: normEps });
}

/** x / rms(x) · w over the last dimension, with the model's epsilon (Zhang & Sennrich 2019, eq. 4). */
export function rootMeanSquareNorm(b: Backend, { normEps }: Pick<DecoderConfig, 'normEps'>) {
  return (x: Tensor, w: Weight): Tensor => b.rmsNorm(x, w, { eps: normEps });
}
