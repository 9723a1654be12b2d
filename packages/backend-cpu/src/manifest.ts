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

/** GPTQ matrices whose columns act-order has scattered: their input is put in the order of the groups, which `linear` does. */
export const orderedGptq = 'gptq';

/** Tokens per block at which attention is as fast as over one block. */
export const blockSizes: readonly number[] = [8, 16, 32, 64, 128, 256];

/** Ops that take whole matrices: their weights may be in any format. The others take vectors, which are dense. */
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
