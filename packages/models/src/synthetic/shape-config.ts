import type { RopeOptions } from '@quern/core';
import type { DecoderConfig } from '../config/decoder-config.js';
import type { ModelShape } from './shapes.js';

/** The configuration of a shape. */
export function shapeConfig({ windows, mixture, trained, ...shape }: ModelShape): DecoderConfig {
  const { architecture, layers, headDim, rotaryDim = headDim, theta, ...sizes } = shape;
  const layout = architecture === 'llama' ? 'interleaved' : 'halves';
  const plain: RopeOptions = { theta, rotaryDim, layout };
  const windowOf = (layer: number) => (windows && (layer + 1) % windows.period !== 0 ? windows.size : 0);
  return {
    ...sizes,
    layers,
    headDim,
    windows: Array.from({ length: layers }, (_, i) => windowOf(i)),
    rope: trained === undefined ? plain : stretched(plain, rotaryDim, 32),
    ...(trained !== undefined && {
      shortRope: { context: trained, rope: stretched(plain, rotaryDim, 1) },
    }),
    ...(windows && { windowRope: { ...plain, theta: windows.theta } }),
    ...(mixture && {
      mixture: { ...mixture, renormalise: true, sparse: Array.from({ length: layers }, () => true) },
    }),
  };
}

/** RoPE with factors that rise from 1 to `last`. */
const stretched = (plain: RopeOptions, rotaryDim: number, last: number): RopeOptions => ({
  ...plain,
  scaling: {
    kind: 'factors',
    factors: Array.from({ length: rotaryDim / 2 }, (_, i) => last ** (i / (rotaryDim / 2 - 1))),
  },
});
