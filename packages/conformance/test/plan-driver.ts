import {
  BackendError,
  type CapturedPlan,
  coreOps,
  type DriverBuffer,
  type DriverWeight,
  dtypes,
  type EncodedPlan,
  fusedOps,
  type HostBuffer,
  headerWords,
  type Kernel,
  type KernelDriver,
  type KernelMemory,
  type KernelWeight,
  opcodes,
  operandWords,
  type PlanChain,
  type PlanDriver,
  type PlanIo,
  regions,
} from '@quern/core';

/** A chain of a driver's own: replays by `replay`, between which it does what the chain says. */
export type RunChain = (
  replay: () => Promise<void>,
  io: PlanIo,
  chain: PlanChain,
  limits: Int32Array,
  stops: Int32Array,
) => Promise<number>;

const opByCode = new Map(
  Object.entries({ ...coreOps, ...fusedOps }).map(([name, op]) => [opcodes.get(name)!, op]),
);

export interface PlanDriverOptions {
  /** Chains of the driver's own. */
  readonly runChain?: RunChain;
  /** What the driver tells of an op that took so many milliseconds. */
  readonly timer?: (milliseconds: number) => number;
  /** Is given everything that a captured plan holds. */
  readonly keepCaptured?: (io: PlanIo) => unknown;
  readonly hostMemory?: (byteLength: number) => ArrayBuffer;
}

/** A kernel driver as one that takes whole plans and trusts their words. Its memory must be the host's. */
export function planDriver(
  { kernels, memory, ...rest }: KernelDriver,
  { runChain, timer, keepCaptured, hostMemory }: PlanDriverOptions = {},
): PlanDriver {
  const buffers = new Map<number, DriverBuffer>();
  const weights = new Map<number, { readonly weight: DriverWeight; readonly format: string }>();
  const runs: Record<string, number> = {};

  function operandAt(words: Int32Array, at: number, places: Readonly<Record<number, DriverBuffer>>) {
    const [region, id, low, high, dtype, rank] = words.subarray(at, at + 6);
    const shape = [...words.subarray(at + 6, at + 6 + rank!)];
    if (region === regions.weight) return { kind: 'weight', shape, ...weights.get(id!)! } as KernelWeight;
    const buffer = region === regions.buffer ? buffers.get(id!)! : places[region!]!;
    const byteOffset = (low! >>> 0) + high! * 2 ** 32;
    return { kind: 'memory', shape, dtype: dtypes[dtype!]!, buffer, byteOffset } as KernelMemory;
  }

  function callAt(words: Int32Array, at: number, places: Readonly<Record<number, DriverBuffer>>) {
    const op = opByCode.get(words[at]!)!;
    const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
    const attributes = Object.entries(op.attributes).map(
      ([name, type], i) => [name, (type === 'f32' ? floats : words)[at + 4 + i]!] as const,
    );
    const first = at + 4 + attributes.length;
    const names = Object.keys(op.operands);
    const place = (i: number) => operandAt(words, first + i * operandWords, places);
    const operands = names.flatMap((name, i) =>
      words[first + i * operandWords] === regions.none ? [] : [[name, place(i)] as const],
    );
    const outputs = Array.from(
      { length: words[at + 3]! - names.length },
      (_, i) => place(names.length + i) as KernelMemory,
    );
    const kernel = (kernels as Readonly<Record<string, Kernel>>)[op.name]!;
    const run = () => kernel(Object.fromEntries(operands), Object.fromEntries(attributes), outputs);
    return { name: op.name, run };
  }

  async function run(
    { words, arenaBytes, opCount }: EncodedPlan,
    { inputs, outputs, control, times }: PlanIo,
  ) {
    const host = (bytes: ArrayBuffer): HostBuffer => ({ id: -1, bytes });
    const places = {
      [regions.arena]: host(new ArrayBuffer(arenaBytes)),
      [regions.inputs]: host(inputs),
      [regions.outputs]: host(outputs),
    };
    for (let i = 0, at = headerWords; i < opCount; i++, at += words[at + 1]!) {
      await new Promise((resolve) => setImmediate(resolve));
      if (control[0]) throw new BackendError('ABORTED', `aborted before op ${i} of ${opCount}`);
      const { name, run: compute } = callAt(words, at, places);
      const start = performance.now();
      await compute();
      if (times && timer) times[i] = timer(performance.now() - start);
      runs[name] = (runs[name] ?? 0) + 1;
    }
  }

  return {
    ...rest,
    capabilities: { ...rest.capabilities, graph: true, timer: timer !== undefined },
    kernelRuns: () => runs,
    memory: {
      ...memory,
      allocate(byteLength) {
        const buffer = memory.allocate(byteLength);
        buffers.set(buffer.id, buffer);
        return buffer;
      },
    },
    async loadWeight(source) {
      const weight = await rest.loadWeight(source);
      weights.set(weight.id, { weight, format: source.format });
      return weight;
    },
    executor: {
      execute: run,
      ...(hostMemory && { hostMemory }),
      capture(plan, io, chain): CapturedPlan {
        const replay = () => run(plan, io);
        keepCaptured?.(io);
        return {
          replay,
          ...(runChain && {
            replayChain: (limits: Int32Array, stops: Int32Array) =>
              runChain(replay, io, chain!, limits, stops),
          }),
          dispose() {},
        };
      },
    },
  };
}
