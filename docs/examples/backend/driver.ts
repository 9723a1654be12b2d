import {
  type AnyOp,
  type CoreOpName,
  coreOps,
  denseFormats,
  fusedOps,
  hostMemory,
  type KernelDriver,
  machineMemory,
  type OpSupport,
} from '@quern/core';
import { attention } from './attention.js';
import { kvAppend } from './cache.js';
import { add, mul, swiglu } from './elementwise.js';
import { fromDefinition } from './from-definition.js';
import { measure } from './measure.js';
import { addRmsNorm, rmsNorm } from './norms.js';
import { embed, gateUpSwiglu, gatherRows, linear } from './products.js';
import { rope } from './rope.js';
import { argmax, softmax } from './rows.js';
import { loadWeight } from './weight.js';

const names = Object.keys(coreOps) as CoreOpName[];
const forEachOp = <Value>(make: (op: AnyOp) => Value) =>
  Object.fromEntries(names.map((name) => [name, make(coreOps[name])])) as Record<CoreOpName, Value>;

/** f32. Weights: the dense formats. Caches: f32 and f16. */
function supportOf({ name, operands }: AnyOp): OpSupport {
  const kinds = new Set(Object.values(operands).map(({ kind }) => kind));
  return {
    dtypes: name === 'cast' ? ['f32', 'f16', 'bf16'] : ['f32'],
    ...(kinds.has('weight') && { weightFormats: denseFormats }),
    ...(kinds.has('buffer') && { cacheDtypes: ['f32', 'f16'] }),
  };
}

/** A driver in plain TypeScript: f32 in memory; own kernels for a model's slow ops. */
export function plainDriver(): KernelDriver {
  return {
    name: 'plain',
    contract: 2, // the contractVersion of @quern/core that this driver was written for
    profile: {
      kind: 'interpreter',
      name: `Node ${process.versions.node}`,
      isa: 'f32',
      threads: 1,
      totalMemory: machineMemory().total,
      ...measure(),
      exactRows: Number.POSITIVE_INFINITY, // no kernel's row depends on other rows
    },
    freeMemory: () => machineMemory().available,
    manifest: {
      ops: forEachOp(supportOf),
      fused: { addRmsNorm: supportOf(fusedOps.addRmsNorm), gateUpSwiglu: supportOf(fusedOps.gateUpSwiglu) },
    },
    capabilities: { pagedKv: { blockSizes: [8, 16, 32, 64] } },
    kernels: {
      ...forEachOp(fromDefinition),
      ...{ embed, linear, add, mul, rmsNorm, swiglu, rope, attention, kvAppend, softmax, argmax, gatherRows },
      ...{ addRmsNorm, gateUpSwiglu },
    },
    memory: hostMemory(),
    loadWeight,
    freeWeight() {}, // the garbage collector's work
    dispose() {},
  };
}
