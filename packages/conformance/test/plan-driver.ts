import {
  BackendError,
  type CapturedPlan,
  coreOps,
  type DeviceProfile,
  type DriverBuffer,
  type DriverWeight,
  dtypes,
  type EncodedPlan,
  faultCodes,
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

/** The driver's own chain: calls `replay` and updates the inputs between replays as the chain says. */
export type RunChain = (
  replay: () => Promise<void>,
  io: PlanIo,
  chain: PlanChain,
  limits: Int32Array,
  stops: Int32Array,
  onReplays: ((done: number) => void) | undefined,
) => Promise<number>;

const opByCode = new Map(
  Object.entries({ ...coreOps, ...fusedOps }).map(([name, op]) => [opcodes.get(name)!, op]),
);

/** How often a driver looks for aborts. */
export type Granularity = NonNullable<DeviceProfile['abort']>;

export interface PlanDriverOptions {
  /** Chains of the driver's own. */
  readonly runChain?: RunChain;
  /** Reported milliseconds for an op's measured milliseconds. */
  readonly timer?: (milliseconds: number) => number;
  /** Receives the io of every captured plan. */
  readonly keepCaptured?: (io: PlanIo) => unknown;
  readonly hostMemory?: (byteLength: number) => ArrayBuffer;
  /**
   * Ops with an index out of range set a flag: the function maps the op's index to the reported index. Absent: they
   * throw.
   */
  readonly flagged?: (op: number) => number;
  /** The driver places temporaries: whether two lifetimes may share memory. Absent: core places them. */
  readonly mayShare?: (one: Lifetime, other: Lifetime) => boolean;
  /** `says`: `profile.abort`. `looks`: the ops before which the driver reads the abort word. Absent: each op. */
  readonly abort?: { readonly says: Granularity; readonly looks: (op: number) => boolean };
  /** Host memory that a plan works on. Absent: its own. */
  readonly memoryOf?: (plan: EncodedPlan, io: PlanIo) => PlanIo;
}

/** Lifetime of a temporary: indices of ops. */
export interface Lifetime {
  readonly first: number;
  readonly last: number;
}

interface Temporary extends Lifetime {
  /** Offset in the plan. */
  readonly offset: number;
  readonly bytes: number;
  /** Real place. */
  readonly place: number;
}

const alignUp = (bytes: number) => Math.ceil(bytes / 64) * 64;

/** Places each temporary at the lowest offset where it shares memory only with allowed lifetimes. */
function placeAll(lifetimes: Float64Array, mayShare: PlanDriverOptions['mayShare']): readonly Temporary[] {
  const placed: Temporary[] = [];
  for (let i = 0; i < lifetimes.length; i += 4) {
    const [offset = 0, bytes = 0, first = 0, last = 0] = lifetimes.subarray(i, i + 4);
    const near = placed
      .filter((other) => !mayShare!(other, { first, last }))
      .sort((a, z) => a.place - z.place);
    let place = 0;
    for (const other of near)
      if (place + bytes > other.place) place = Math.max(place, alignUp(other.place + other.bytes));
    placed.push({ offset, bytes, first, last, place });
  }
  return placed;
}

/** An arena with the temporaries of a plan, placed by the driver. */
class OwnArena {
  readonly memory: HostBuffer;
  private readonly temporaries: readonly Temporary[];

  constructor({ lifetimes, arenaBytes }: EncodedPlan, mayShare: PlanDriverOptions['mayShare']) {
    this.temporaries = mayShare ? placeAll(lifetimes, mayShare) : [];
    const ends = this.temporaries.map(({ place, bytes }) => place + bytes);
    this.memory = { id: -1, bytes: new ArrayBuffer(mayShare ? Math.max(0, ...ends) : arenaBytes) };
  }

  /** Real place of a byte at an offset of the plan. */
  at(offset: number): number {
    const own = this.temporaries.findLast((one) => offset >= one.offset && offset <= one.offset + one.bytes);
    return own ? own.place + offset - own.offset : offset;
  }
}

interface Regions {
  readonly arena: OwnArena;
  readonly places: Readonly<Record<number, DriverBuffer>>;
}

/** A kernel driver as a plan driver that checks the words. Its memory must be host memory. */
export function planDriver(
  { kernels, memory, ...rest }: KernelDriver,
  options: PlanDriverOptions = {},
): PlanDriver {
  const { runChain, timer, keepCaptured, hostMemory, flagged, mayShare, abort, memoryOf } = options;
  const looks = abort?.looks ?? (() => true);
  const buffers = new Map<number, DriverBuffer>();
  const weights = new Map<number, { readonly weight: DriverWeight; readonly format: string }>();
  const runs: Record<string, number> = {};

  function operandAt(words: Int32Array, at: number, { arena, places }: Regions) {
    const [region, id, low, high, dtype, rank] = words.subarray(at, at + 6);
    const shape = [...words.subarray(at + 6, at + 6 + rank!)];
    if (region === regions.weight) return { kind: 'weight', shape, ...weights.get(id!)! } as KernelWeight;
    const buffer = region === regions.buffer ? buffers.get(id!)! : places[region!]!;
    const offset = (low! >>> 0) + high! * 2 ** 32;
    const byteOffset = region === regions.arena ? arena.at(offset) : offset;
    return { kind: 'memory', shape, dtype: dtypes[dtype!]!, buffer, byteOffset } as KernelMemory;
  }

  function callAt(words: Int32Array, at: number, places: Regions) {
    const op = opByCode.get(words[at]!)!;
    const floats = new Float32Array(words.buffer, words.byteOffset, words.length);
    const attributes = Object.entries(op.attributes).map(
      ([name, type], i) => [name, (type === 'f32' ? floats : words)[at + 4 + i]!] as const,
    );
    const first = at + 4 + attributes.length;
    const inputs = words[at + 3]! - op.outputs.length; // without operands that joined the op later and are absent
    const names = Object.keys(op.operands).slice(0, inputs);
    const place = (i: number) => operandAt(words, first + i * operandWords, places);
    const operands = names.flatMap((name, i) =>
      words[first + i * operandWords] === regions.none ? [] : [[name, place(i)] as const],
    );
    const outputs = Array.from({ length: op.outputs.length }, (_, i) => place(inputs + i) as KernelMemory);
    const kernel = (kernels as Readonly<Record<string, Kernel>>)[op.name]!;
    const run = () => kernel(Object.fromEntries(operands), Object.fromEntries(attributes), outputs);
    return { name: op.name, run };
  }

  async function run(plan: EncodedPlan, io: PlanIo) {
    const { words, opCount } = plan;
    const { inputs, outputs, control, times, fault } = memoryOf?.(plan, io) ?? io;
    const host = (bytes: ArrayBuffer): HostBuffer => ({ id: -1, bytes });
    const arena = new OwnArena(plan, mayShare);
    const inHost = { [regions.inputs]: host(inputs), [regions.outputs]: host(outputs) };
    const places: Regions = { arena, places: { [regions.arena]: arena.memory, ...inHost } };
    for (let i = 0, at = headerWords; i < opCount; i++, at += words[at + 1]!) {
      await new Promise((resolve) => setImmediate(resolve));
      if (looks(i) && control[0]) throw new BackendError('ABORTED', `aborted before op ${i} of ${opCount}`);
      const { name, run: compute } = callAt(words, at, places);
      const start = performance.now();
      try {
        await compute();
      } catch (error) {
        if (!(error instanceof BackendError && error.code === 'OUT_OF_RANGE')) throw error;
        fault[0] = (flagged?.(i) ?? i) + 1;
        if (!flagged) throw error;
        fault[1] = faultCodes.OUT_OF_RANGE;
        return;
      }
      if (times && timer) times[i] = timer(performance.now() - start);
      runs[name] = (runs[name] ?? 0) + 1;
    }
  }

  return {
    ...rest,
    profile: { ...rest.profile, ...(mayShare && { placing: 'driver' }), ...(abort && { abort: abort.says }) },
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
          ...(runChain &&
            <Partial<CapturedPlan>>{
              replayChain: (limits, stops, _dirty, _control, onReplays) =>
                runChain(replay, io, chain!, limits, stops, onReplays),
            }),
          dispose() {},
        };
      },
    },
  };
}
