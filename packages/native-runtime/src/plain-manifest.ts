import { type CoreOpName, cacheDtypes, denseFormats, type Manifest, type OpSupport } from '@quern/core';

/** The ops of native/quern/plain. Does not compile if a core op required of every driver is missing. */
const plainOps = [
  'embed',
  'linear',
  'add',
  'mul',
  'scale',
  'rmsNorm',
  'silu',
  'gelu',
  'swiglu',
  'geglu',
  'ropeTable',
  'rope',
  'attention',
  'kvAppend',
  'softmax',
  'argmax',
  'topK',
  'maskLogits',
  'penalise',
  'gatherRows',
  'cast',
  'expertLinear',
  'weightedSum',
  'layerNorm',
  'uncachedAttention',
  'pool',
  'l2Normalise',
  'conv1d',
  'log10',
  'tanh',
  'sample',
  'logProbs',
] as const satisfies readonly CoreOpName[];

const supportOf = (op: string): OpSupport => ({
  dtypes: op === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
  weightFormats: denseFormats,
  cacheDtypes,
});

/** Capabilities of the plain ops: f32, dense weights, caches of all types. */
export const plainManifest: Manifest = {
  ops: Object.fromEntries(plainOps.map((op) => [op, supportOf(op)])) as Record<
    (typeof plainOps)[number],
    OpSupport
  >,
};
