import {
  BackendError,
  dtypeBytes,
  kvShape,
  type PlanDriver,
  type WeightBytes,
  type WeightPart,
  type WeightSource,
} from '@quern/core';
import { executorOf, type Record } from './executor.js';
import { Link } from './link.js';
import { manifest } from './manifest.js';

export interface TestDeviceOptions {
  /** 2 where absent. */
  readonly plansInFlight?: number;
  /** Whether the device chains replays by itself; true where absent. */
  readonly chains?: boolean;
  /** What each plan takes besides, in milliseconds, without a processor; 0 where absent. */
  readonly pace?: number;
}

/** A driver whose device is a thread with memory of its own. */
export interface TestDevice extends PlanDriver {
  /** When the device began and ended each plan or chain, in milliseconds. */
  readonly spans: readonly (readonly [begin: number, end: number])[];
  /** Plans that the device has begun. */
  readonly begun: number;
  /** From now on the device fails in the middle of its next plan. */
  break(): void;
}

const memoryBytes = 2 ** 31;

const copied = (bytes: WeightBytes): WeightBytes => (bytes instanceof Uint8Array ? bytes.slice() : bytes);

/** The source with bytes that the caller cannot change once the call has returned. */
const ownSource = ({ bytes, ...source }: WeightSource): WeightSource => ({
  ...source,
  bytes: Array.isArray(bytes)
    ? bytes.map((part: WeightPart) => ({ ...part, bytes: copied(part.bytes) }))
    : copied(bytes as WeightBytes),
});

/**
 * A device that behaves as a GPU does. Memory: out of JavaScript's sight; temporaries at places of the device's own choice, in bf16
 * where all readers round; caches heads first. Runs: two plans in flight, each with a completion event of its own; captured plans and
 * chains; flags in place of exceptions; aborts between plans alone. Numbers: no float64. Kernels are the op definitions.
 */
export async function testDevice({
  plansInFlight = 2,
  chains = true,
  pace = 0,
}: TestDeviceOptions = {}): Promise<TestDevice> {
  const link = await Link.open(pace);
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
      ...{ plansInFlight, abort: 'step', placing: 'driver' },
    },
    freeMemory: free,
    manifest,
    capabilities: {
      pagedKv: { blockSizes: [1, 2, 4, 8, 16, 32] },
      kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] },
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
    kv: {
      allocate(spec) {
        const byteLength = kvShape(spec).reduce((bytes, d) => bytes * d, dtypeBytes[spec.dtype]);
        const buffer = { id: take(byteLength) };
        link.tell({ kind: 'allocate', id: buffer.id, byteLength, spec });
        return buffer;
      },
      async write(buffer, first, count, bytes) {
        const from = (first * bytes.length) / count;
        await link.ask({ kind: 'write', id: buffer.id, piece: { from, bytes: bytes.slice() } });
      },
      async read(buffer, first, count, bytes) {
        const from = (first * bytes.length) / count;
        const range = { from, to: from + bytes.length };
        bytes.set(await link.ask<Uint8Array>({ kind: 'read', id: buffer.id, range }));
      },
    },
    async loadWeight(source) {
      const taken = take(4 * source.shape.reduce((count, d) => count * d, 1)); // kept as f32
      try {
        const byteLength = await link.ask<number>({ kind: 'load', id: taken, source: ownSource(source) });
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
    executor: executorOf(link, free, record, chains),
    dispose: () => link.close(),
    spans: record.spans,
    get begun() {
      return link.begun;
    },
    break: () => link.break(),
  };
}
