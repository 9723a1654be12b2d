import {
  type CoreOpName,
  cacheDtypes,
  coreOps,
  denseFormats,
  type Manifest,
  type OpSupport,
} from '@quern/core';

const supportOf = (op: string): OpSupport => ({
  dtypes: op === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
  weightFormats: denseFormats,
  cacheDtypes,
});

/** What the plain ops do (native/quern/plain): every core op on f32, with dense weights and all types of caches. */
export const plainManifest: Manifest = {
  ops: Object.fromEntries(Object.keys(coreOps).map((op) => [op, supportOf(op)])) as Record<
    CoreOpName,
    OpSupport
  >,
};
