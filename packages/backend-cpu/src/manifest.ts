import {
  type CoreOpName,
  cacheDtypes,
  coreOps,
  denseFormats,
  type FusedOpName,
  fusedOps,
  type Manifest,
  type OpSupport,
  type WeightFormat,
} from '@quern/core';
import { ggufFormats } from './formats.js';

/** GPTQ matrices with columns reordered by group (act-order): `linear` reorders its input to match. */
export const orderedGptq = 'gptq';

/** Block sizes (tokens) with which attention is as fast as with one block. */
export const blockSizes: readonly number[] = [8, 16, 32, 64, 128, 256];

/** Ops with matrix weights, in any format. The other ops take vectors; vectors are dense. */
const matrixOps: ReadonlySet<string> = new Set([
  'embed',
  'linear',
  'conv1d',
  'gateUpSwiglu',
  'qkvLinear',
  'linearArgmax',
  'biasGelu',
  'expertLinear',
  'moe',
]);

function weightFormatsOf(op: string): readonly WeightFormat[] {
  if (!matrixOps.has(op)) return denseFormats;
  return [...denseFormats, ...ggufFormats, ...(op === 'linear' ? [orderedGptq] : [])];
}

function supportOf(op: string): OpSupport {
  return {
    dtypes: op === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
    weightFormats: weightFormatsOf(op),
    cacheDtypes,
  };
}

const supportAll = <Name extends string>(ops: Readonly<Record<Name, unknown>>) =>
  Object.fromEntries(Object.keys(ops).map((op) => [op, supportOf(op)])) as Record<Name, OpSupport>;

/** Every core op and every fused op. */
export const manifest: Manifest = {
  ops: supportAll<CoreOpName>(coreOps),
  fused: supportAll<FusedOpName>(fusedOps),
};
