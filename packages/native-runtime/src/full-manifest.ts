import {
  cacheDtypes,
  type DType,
  denseFormats,
  type FusedOpName,
  type Manifest,
  type WeightFormat,
} from '@quern/core';
import { coreClaims, fusedClaims, takes } from './op-support.js';

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
  const claim = (op: string) => ({
    weightFormats: matrixOps.has(op) ? [...denseFormats, ...matrixFormats(op)] : denseFormats,
    cacheDtypes: caches,
    ...takes(op),
  });
  return { ops: coreClaims(claim), fused: fusedClaims(claim, without) };
}
