import { type CoreOpName, cacheDtypes, denseFormats, type Manifest, type OpSupport } from '@quern/core';

/** The ops of native/quern/plain. A core op that a driver must have and that is not here does not compile. */
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
] as const satisfies readonly CoreOpName[];

const supportOf = (op: string): OpSupport => ({
  dtypes: op === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
  weightFormats: denseFormats,
  cacheDtypes,
});

/** What the plain ops do: f32, dense weights, all types of caches. */
export const plainManifest: Manifest = {
  ops: Object.fromEntries(plainOps.map((op) => [op, supportOf(op)])) as Record<
    (typeof plainOps)[number],
    OpSupport
  >,
};
