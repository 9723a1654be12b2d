import {
  BackendError,
  cacheDtypes,
  coreOps,
  denseFormats,
  type FusedOpName,
  fusedOps,
  type Manifest,
  type OpSupport,
  type PlanDriver,
  type WeightSource,
} from '@quern/core';
import { executorOf, type Record } from './executor.js';
import { Link } from './link.js';

export interface TestDeviceOptions {
  /** 2 where absent. */
  readonly plansInFlight?: number;
}

/** A driver whose device is a thread with memory of its own. */
export interface TestDevice extends PlanDriver {
  /** When the device began and ended each plan or chain, in milliseconds. */
  readonly spans: readonly (readonly [begin: number, end: number])[];
  /** From now on the device fails in the middle of its next plan. */
  break(): void;
}

const memoryBytes = 2 ** 31;

const support: OpSupport = {
  dtypes: ['f32', 'f16', 'bf16'],
  weightFormats: denseFormats,
  cacheDtypes,
};

const fused = (Object.keys(fusedOps) as FusedOpName[]).filter((name) => name !== 'moe');

const manifest = {
  ops: Object.fromEntries(Object.keys(coreOps).map((name) => [name, support])),
  fused: Object.fromEntries(fused.map((name) => [name, support])),
} as Manifest;

/** Bytes of the caller's, which it may change once the call has returned. */
const copied = (source: WeightSource): WeightSource =>
  source.bytes instanceof Uint8Array ? { ...source, bytes: source.bytes.slice() } : source;

/**
 * A device as a GPU is one: memory that JavaScript cannot see, completion in an event of its own, two plans in flight, flags in
 * place of exceptions, an abort between plans alone, chains and captured plans on the device. It computes by the op definitions.
 */
export async function testDevice({ plansInFlight = 2 }: TestDeviceOptions = {}): Promise<TestDevice> {
  const link = await Link.open();
  const record: Record = { runs: {}, spans: [] };
  const sizes = new Map<number, number>();
  let used = 0;
  let id = 0;
  const free = () => memoryBytes - used;
  const take = (bytes: number): number => {
    if (bytes > free())
      throw new BackendError('OUT_OF_MEMORY', `cannot allocate ${bytes} bytes; ${free()} are free`);
    used += bytes;
    sizes.set(id, bytes);
    return id++;
  };
  const give = (given: number) => {
    used -= sizes.get(given) ?? 0;
    sizes.delete(given);
  };
  return {
    name: 'test-device',
    profile: {
      ...{ kind: 'gpu', name: 'a thread', isa: 'definitions', threads: 1, totalMemory: memoryBytes },
      ...{ readBandwidth: 1e9, flops: 1e8, exactRows: Number.POSITIVE_INFINITY },
      ...{ plansInFlight, abort: 'step' },
    },
    freeMemory: free,
    manifest,
    capabilities: {
      pagedKv: { blockSizes: [1, 2, 4, 8, 16, 32] },
      kvQuant: { dtypes: ['bf16', 'int8'] },
      ...{ graph: true, timer: true },
    },
    memory: {
      allocate(byteLength) {
        const buffer = { id: take(byteLength) };
        link.tell({ kind: 'allocate', id: buffer.id, byteLength });
        return buffer;
      },
      free(buffer) {
        give(buffer.id);
        link.tell({ kind: 'free', id: buffer.id });
      },
      async write(buffer, from, bytes) {
        await link.ask({ kind: 'write', id: buffer.id, piece: { from, bytes: bytes.slice() } });
      },
      async read(buffer, from, bytes) {
        const range = { from, to: from + bytes.length };
        bytes.set(await link.ask<Uint8Array>({ kind: 'read', id: buffer.id, range }));
      },
    },
    async loadWeight(source) {
      const taken = take(4 * source.shape.reduce((count, d) => count * d, 1)); // kept as f32
      try {
        const byteLength = await link.ask<number>({ kind: 'load', id: taken, source: copied(source) });
        return { id: taken, byteLength };
      } catch (error) {
        give(taken);
        throw error;
      }
    },
    freeWeight(weight) {
      give(weight.id);
      link.tell({ kind: 'unload', id: weight.id });
    },
    kernelRuns: () => record.runs,
    executor: executorOf(link, free, record),
    dispose: () => link.close(),
    spans: record.spans,
    break: () => link.break(),
  };
}
