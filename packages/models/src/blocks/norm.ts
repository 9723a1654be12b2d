import type { Backend, Tensor, Weight } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';

/** x / rms(x) · w over the last dimension, with the model's epsilon (Zhang & Sennrich 2019, eq. 4). */
export function rootMeanSquareNorm(b: Backend, { rmsEps }: Pick<DecoderConfig, 'rmsEps'>) {
  return (x: Tensor, w: Weight): Tensor => b.rmsNorm(x, w, { eps: rmsEps });
}
