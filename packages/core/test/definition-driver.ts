import {
  type AnyOp,
  type CoreOpName,
  coreOps,
  type DriverMemory,
  denseFormats,
  elements,
  type FusedOpName,
  fusedOps,
  type HostBuffer,
  hostMemory,
  type Kernel,
  type KernelDriver,
  type Numbers,
  type OpSupport,
} from '../src/index.js';

const support: OpSupport = { dtypes: ['f32'], weightFormats: denseFormats, cacheDtypes: ['f32', 'f16'] };

/** Resources allocated and not freed. */
export interface Ledger {
  buffers: number;
  weights: number;
  disposals: number;
}

const fromEntries = <Name extends string, Value>(names: readonly Name[], make: (name: Name) => Value) =>
  Object.fromEntries(names.map((name) => [name, make(name)])) as Record<Name, Value>;

/** The definition itself, for 32-bit operands. */
function kernelOf(op: AnyOp): Kernel {
  return (operands, attributes, outputs) => {
    const numbers = Object.entries(operands).map(([name, operand]): [string, Numbers] => {
      const { shape } = operand;
      if (operand.kind === 'weight') return [name, { shape, data: loaded.get(operand.weight.id)! }];
      return [name, { shape, data: elements(operand) as Float32Array }];
    });
    const results = outputs.map((output) => ({
      shape: output.shape,
      data: elements(output) as Float32Array,
    }));
    op.define(Object.fromEntries(numbers), attributes, results);
  };
}

const loaded = new Map<number, Float32Array>();

function countedMemory(ledger: Ledger): DriverMemory {
  const memory: DriverMemory<HostBuffer> = hostMemory();
  return {
    ...memory,
    allocate(byteLength) {
      const buffer = memory.allocate(byteLength);
      ledger.buffers++;
      return buffer;
    },
    free() {
      ledger.buffers--;
    },
  } as DriverMemory;
}

/** A driver made from the op definitions, f32 only. It counts its allocations. */
export function definitionDriver(ledger: Ledger = { buffers: 0, weights: 0, disposals: 0 }): KernelDriver {
  const core = Object.keys(coreOps) as CoreOpName[];
  const fused = Object.keys(fusedOps) as FusedOpName[];
  return {
    name: 'definitions',
    profile: {
      kind: 'interpreter',
      name: 'test',
      isa: 'none',
      threads: 1,
      totalMemory: 1,
      readBandwidth: 1,
      flops: 1,
      exactRows: Number.POSITIVE_INFINITY,
    },
    freeMemory: () => 1,
    manifest: { ops: fromEntries(core, () => support), fused: fromEntries(fused, () => support) },
    capabilities: { pagedKv: { blockSizes: [2, 4] } },
    memory: countedMemory(ledger),
    kernels: {
      ...fromEntries(core, (name) => kernelOf(coreOps[name])),
      ...fromEntries(fused, (name) => kernelOf(fusedOps[name])),
    },
    async loadWeight({ bytes }) {
      if (!(bytes instanceof Uint8Array)) throw new Error('these tests load from memory');
      const id = loaded.size;
      loaded.set(id, new Float32Array(bytes.slice().buffer));
      ledger.weights++;
      return { id, byteLength: bytes.length };
    },
    freeWeight() {
      ledger.weights--;
    },
    dispose() {
      ledger.disposals++;
    },
  };
}
