import {
  type CoreOpName,
  cacheDtypes,
  coreOps,
  type DType,
  denseFormats,
  type FusedOpName,
  fusedOps,
  type Manifest,
  type OpSupport,
  type WeightFormat,
} from '@quern/core';

/** Ops with matrix weights. The other ops take vectors; vectors are dense. */
const matrixOps: ReadonlySet<string> = new Set([
  'embed',
  'linear',
  'conv1d',
  'gateUpSwiglu',
  'qkvLinear',
  'linearArgmax',
  'linearMask',
  'biasGelu',
  'expertLinear',
  'moe',
]);

/**
 * Every core op and every fused op but `without`: f32, dense weights. `matrixFormats(op)`: the other formats of its
 * matrices. `caches`: the element types of caches.
 */
export function fullManifest(
  matrixFormats: (op: string) => readonly WeightFormat[],
  caches: readonly DType[] = cacheDtypes,
  without: readonly FusedOpName[] = [],
): Manifest {
  const supportOf = (op: string): OpSupport => ({
    dtypes: op === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
    weightFormats: matrixOps.has(op) ? [...denseFormats, ...matrixFormats(op)] : denseFormats,
    cacheDtypes: caches,
  });
  const supportAll = <Name extends string>(ops: Readonly<Record<Name, unknown>>) =>
    Object.fromEntries(Object.keys(ops).map((op) => [op, supportOf(op)])) as Record<Name, OpSupport>;
  const fused = Object.entries(supportAll<FusedOpName>(fusedOps)).filter(
    ([op]) => !without.includes(op as FusedOpName),
  );
  return { ops: supportAll<CoreOpName>(coreOps), fused: Object.fromEntries(fused) };
}
