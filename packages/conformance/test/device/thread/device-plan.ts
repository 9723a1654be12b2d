import { kernelOf } from '@quern/backend-reference';
import {
  type AnyOp,
  BackendError,
  dtypeBytes,
  elementCount,
  elements,
  f32ToBf16,
  faultCodes,
  type HostBuffer,
  type Kernel,
  type KernelMemory,
  type KernelWeight,
  regions,
} from '@quern/core';
import { ropeTable } from '../../float32-kernels.js';
import { overCaches } from '../../heads-first.js';
import { roundOperand } from '../../round-operand.js';
import type { Piece, PlanMessage, Ran } from '../protocol.js';
import type { DeviceMemory } from './device-memory.js';
import { Placement } from './placement.js';
import { type Operand, type OpRecord, PlanReader, type RegionBytes } from './read-plan.js';

/** By op; other ops are computed by their definitions. `ropeTable` reduces angles in integers: no float64. */
const kernels = new Map<string, Kernel>([['ropeTable', ropeTable]]);

function kernel(op: AnyOp): Kernel {
  const known = kernels.get(op.name) ?? kernelOf(op);
  kernels.set(op.name, known);
  return known;
}

/** How often each kernel has run. */
const runs: Record<string, number> = {};

export function forgetRuns(): void {
  for (const name of Object.keys(runs)) delete runs[name];
}

const region = (byteLength: number): HostBuffer => ({ id: -1, bytes: new ArrayBuffer(byteLength) });

/** Registers of f32 for an output that is stored as bf16. */
const wideScratch = (place: KernelMemory): KernelMemory => ({
  ...place,
  dtype: 'f32',
  buffer: region(dtypeBytes.f32 * elementCount(place.shape)),
  byteOffset: 0,
});

/** Stores f32 as bf16: to nearest, ties to even. */
function narrow(wide: KernelMemory, place: KernelMemory): void {
  elements(place).set(Uint16Array.from(elements(wide), f32ToBf16));
}

/** NaN in every floating dtype. Shows elements that an op leaves unwritten, and reads after a lifetime. */
const poison = 0xff;

function needHostRegions(bytes: RegionBytes, { inputsBytes, outputsBytes }: PlanMessage): void {
  if (bytes[regions.inputs] !== inputsBytes || bytes[regions.outputs] !== outputsBytes)
    throw new BackendError('BAD_ARGUMENT', 'the plan is malformed: its regions are not those of the host');
}

function needRoom(arenaBytes: number, { inputsBytes, outputsBytes, free }: PlanMessage): void {
  const wanted = arenaBytes + inputsBytes + outputsBytes;
  if (!(wanted <= free))
    throw new BackendError(
      'OUT_OF_MEMORY',
      `a plan of ${wanted} bytes does not fit in the ${free} that are free`,
    );
}

/** A plan on the device, with memory of its own. */
export class DevicePlan {
  readonly inputs: Uint8Array;
  readonly outputs: Uint8Array;
  private readonly places: Readonly<Record<number, HostBuffer>>;
  private readonly ops: readonly OpRecord[];
  /** By op, the ranges of the arena that no later op reads. */
  private readonly ending: readonly ReturnType<Placement['endingAt']>[];

  constructor(
    private readonly message: PlanMessage,
    private readonly memory: DeviceMemory,
    /** What each run takes besides, in milliseconds. */
    private readonly pace: number,
  ) {
    const reader = new PlanReader(message.words, memory);
    needHostRegions(reader.regionBytes, message);
    const placement = new Placement(message.lifetimes);
    needRoom(placement.byteLength, message);
    this.ops = reader.ops().map((record, i) => placement.onDevice(record, i));
    this.ending = this.ops.map((_, i) => placement.endingAt(i));
    this.places = {
      [regions.arena]: region(placement.byteLength),
      [regions.inputs]: region(message.inputsBytes),
      [regions.outputs]: region(message.outputsBytes),
    };
    this.inputs = new Uint8Array(this.places[regions.inputs]!.bytes);
    this.outputs = new Uint8Array(this.places[regions.outputs]!.bytes);
  }

  upload(pieces: readonly Piece[]): void {
    for (const { from, bytes } of pieces) this.inputs.set(bytes, from);
  }

  /** Runs to the end once it has begun. */
  run(control: Int32Array, state: Int32Array): Ran {
    if (control[0]) throw new BackendError('ABORTED', 'the plan was aborted before it began');
    const begin = now();
    Atomics.add(state, 1, 1);
    const arena = new Uint8Array(this.places[regions.arena]!.bytes).fill(poison);
    const times: number[] = [];
    let fault: Ran['fault'];
    for (const [i, record] of this.ops.entries()) {
      if (state[0]) process.exit(1); // as a device that falls off its bus
      const start = performance.now();
      if (!this.compute(record)) fault ??= [i + 1, faultCodes.OUT_OF_RANGE];
      times.push(performance.now() - start);
      for (const [from, to] of this.ending[i]!) arena.fill(poison, from, to);
    }
    if (this.pace > 0) Atomics.wait(nothing, 0, 0, this.pace);
    const timed = this.message.timed ? times : undefined;
    return { outputs: this.download(), fault, times: timed, span: [begin, now()], runs: { ...runs } };
  }

  /** False where an index lies outside its range: the kernel can but raise a flag, and the next ones go on. */
  private compute({ op, attributes, operands, outputs, rounded }: OpRecord): boolean {
    const named = Object.entries(operands).map(([name, operand]) => {
      const bound = this.bind(operand);
      return [name, rounded.includes(name) ? roundOperand(bound as KernelMemory) : bound] as const;
    });
    const places = outputs.map((output) => this.bind(output) as KernelMemory);
    const results = places.map((place, i) => (outputs[i]!.narrowed ? wideScratch(place) : place));
    runs[op.name] = (runs[op.name] ?? 0) + 1;
    try {
      const compute = overCaches(kernel(op), ({ id }) => this.memory.cacheSpec(id));
      compute(Object.fromEntries(named), attributes, results);
      for (const [i, { narrowed }] of outputs.entries()) if (narrowed) narrow(results[i]!, places[i]!);
      return true;
    } catch (error) {
      if (error instanceof BackendError && error.code === 'OUT_OF_RANGE') return false;
      throw error;
    }
  }

  private bind({ region: at, id, byteOffset, dtype, shape }: Operand): KernelMemory | KernelWeight {
    if (at === regions.weight) {
      const { weight, format } = this.memory.weight(id);
      return { kind: 'weight', shape, format, weight };
    }
    const buffer = at === regions.buffer ? this.memory.buffer(id) : this.places[at]!;
    return { kind: 'memory', shape, dtype: dtype!, buffer, byteOffset };
  }

  /** The kept tensors, and no byte between them. */
  private download(): Piece[] {
    const kept = this.ops.flatMap(({ outputs }) =>
      outputs.filter((output) => output.region === regions.outputs),
    );
    return kept.map(({ byteOffset, dtype, shape }) => {
      const end = byteOffset + elementCount(shape) * dtypeBytes[dtype!];
      return { from: byteOffset, bytes: this.outputs.slice(byteOffset, end) };
    });
  }
}

const nothing = new Int32Array(new SharedArrayBuffer(4));

/** The same clock on every thread. */
export const now = (): number => performance.timeOrigin + performance.now();
