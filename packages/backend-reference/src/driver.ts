import {
  type CoreOpName,
  cacheDtypes,
  coreOps,
  denseFormats,
  hostLinks,
  hostMemory,
  type KernelDriver,
  type Manifest,
  machineMemory,
  type OpSupport,
} from '@quern/core';
import { kernelOf } from './kernel.js';
import { measuredRates } from './measure.js';
import { loadDense, loadGptq } from './weight.js';

/** Support of every op: f32 (cast also takes 16-bit floats), dense weights, all cache types. */
const support: OpSupport = {
  dtypes: ['f32', 'f16', 'bf16'],
  weightFormats: denseFormats,
  cacheDtypes,
  takes: ['sinks'],
};

const forEachOp = <Value>(make: (name: CoreOpName) => Value) =>
  Object.fromEntries((Object.keys(coreOps) as CoreOpName[]).map((name) => [name, make(name)])) as Record<
    CoreOpName,
    Value
  >;

/**
 * A driver whose kernels are the op definitions: float64 inside, values rounded when stored. It defines correct
 * results, and is the shortest driver possible.
 */
export function referenceDriver(): KernelDriver {
  const manifest: Manifest = { ops: forEachOp(() => support) };
  return {
    name: 'reference',
    contract: 2,
    profile: {
      kind: 'interpreter',
      name: `JavaScript on Node ${process.versions.node}`,
      isa: 'float64',
      precision: 'exact',
      threads: 1,
      totalMemory: machineMemory().total,
      ...measuredRates(),
      exactRows: Number.POSITIVE_INFINITY,
      sharesHostMemory: true,
      links: hostLinks(),
    },
    freeMemory: () => machineMemory().available,
    manifest,
    capabilities: {
      pagedKv: { blockSizes: [1, 2, 4, 8, 16, 32, 64, 128, 256] },
      kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] },
      quantGptq: { bits: [4, 8] },
    },
    memory: hostMemory(),
    kernels: forEachOp((name) => kernelOf(coreOps[name])),
    loadWeight: loadDense,
    loadGptq,
    freeWeight() {},
    dispose() {},
  };
}
