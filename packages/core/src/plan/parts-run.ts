import type { ByteRange, PlanIo } from '../driver.js';
import { BackendError } from '../error.js';
import type { Crossing, DevicePart, HostPart, PlanPart } from './cut-plan.js';
import { DirtyInputs } from './dirty-inputs.js';
import { takeFault, withOpName } from './fault.js';
import { type BytesOf, runOnHost } from './host-op.js';
import type { Layout } from './layout.js';
import type { Plan, Storage } from './plan.js';
import type { Runner } from './runner.js';

/** A plan with its memory. */
interface LaidOut {
  readonly layout: Layout;
  readonly io: PlanIo;
}

/** A device part with its memory and its runner. */
export interface DevicePlan extends LaidOut {
  readonly runner: Runner;
  /** Gives the memory back. */
  free(): void;
}

/** Data of a whole run that each part needs. */
interface Run {
  readonly bytesOf: BytesOf;
  /** Whether an input of the plan has been written since the last run. */
  isDirty(storage: Storage): boolean;
  readonly control: Int32Array;
}

/** Computes one part. A host part has ended when the call returns. */
interface PartRun {
  capture?(): Promise<void>;
  run(run: Run): Promise<void> | undefined;
  readonly reads: readonly Storage[];
  dispose(): void;
}

class HostRun implements PartRun {
  readonly reads: readonly Storage[];

  constructor(
    private readonly part: HostPart,
    private readonly whole: PlanIo,
    private readonly countRun: (op: string) => void,
  ) {
    this.reads = part.op.operands.flatMap((operand) => (operand?.kind === 'tensor' ? [operand.storage] : []));
  }

  run({ bytesOf }: Run): undefined {
    const { op, index } = this.part;
    const start = performance.now();
    runOnHost(op, bytesOf);
    this.countRun(op.op.name);
    if (this.whole.times) this.whole.times[index] = performance.now() - start;
  }

  dispose(): void {}
}

class DeviceRun implements PartRun {
  readonly reads: readonly Storage[];
  private readonly inputs: DirtyInputs;

  constructor(
    private readonly part: DevicePart,
    private readonly own: DevicePlan,
    private readonly whole: PlanIo,
  ) {
    this.reads = part.takes.map(({ whole: storage }) => storage);
    this.inputs = new DirtyInputs(own.io.inputs);
  }

  async capture(): Promise<void> {
    await this.own.runner.capture?.(undefined);
  }

  async run({ bytesOf, isDirty, control }: Run): Promise<void> {
    const { takes, gives, plan } = this.part;
    for (const { whole, own } of takes)
      if (isDirty(whole)) this.inputs.write(this.own.layout.places.get(own)!.byteOffset, bytesOf(whole));
    await this.own.runner.run(this.inputs.take(), control).catch((error: unknown) => {
      throw withOpName(error, this.own.io.fault, plan.ops);
    });
    const fault = takeFault(this.own.io.fault, plan.ops);
    if (fault) throw fault;
    for (const crossing of gives) bytesOf(crossing.whole).set(this.outputBytes(crossing));
    this.tellTimes();
  }

  dispose(): void {
    this.own.runner.dispose();
    this.own.free();
  }

  private outputBytes({ own }: Crossing): Uint8Array {
    return new Uint8Array(this.own.io.outputs, this.own.layout.places.get(own)!.byteOffset, own.byteLength);
  }

  private tellTimes(): void {
    const { times } = this.own.io;
    if (times) this.part.indices.forEach((index, i) => (this.whole.times![index] = times[i]!));
  }
}

/**
 * Runs a plan that has host ops: part by part, with copies between the parts. When the call returns, the host parts before
 * the first device part have ended, the device has that part, and the inputs of later parts have been copied.
 */
export class PartsRun implements Runner {
  readonly inParts: boolean;
  private readonly parts: readonly PartRun[];
  /** Number of parts up to and including the first device part. */
  private readonly early: number;
  /** Storages that later parts read and that exist before the first device part runs. */
  private readonly late: readonly Storage[];
  /** Values that cross parts, except inputs and kept tensors. */
  private readonly crossing = new Map<Storage, Uint8Array>();

  constructor(
    plan: Plan,
    parts: readonly PlanPart[],
    private readonly whole: LaidOut,
    devicePlan: (part: DevicePart) => DevicePlan,
    countRun: (op: string) => void,
  ) {
    this.parts = parts.map((part) =>
      part.kind === 'host'
        ? new HostRun(part, whole.io, countRun)
        : new DeviceRun(part, devicePlan(part), whole.io),
    );
    this.inParts = parts.filter(({ kind }) => kind === 'device').length > 1;
    this.early = parts.findIndex(({ kind }) => kind === 'device') + 1;
    const there = new Set(plan.storages.filter(({ isInput }) => isInput));
    for (const part of parts.slice(0, this.early))
      if (part.kind === 'host') for (const { storage } of part.op.outputs) there.add(storage);
    const readLate = this.parts.slice(this.early).flatMap(({ reads }) => reads);
    this.late = [...new Set(readLate)].filter((storage) => there.has(storage));
  }

  async capture(): Promise<void> {
    for (const part of this.parts) await part.capture?.();
  }

  async run(dirty: readonly ByteRange[], control: Int32Array): Promise<void> {
    const isDirty = (storage: Storage) => this.isDirty(storage, dirty);
    let bytesOf: BytesOf = (storage) => this.bytesOf(storage);
    for (const [i, part] of this.parts.entries()) {
      if (control[0])
        throw new BackendError('ABORTED', `the run was aborted before part ${i + 1} of ${this.parts.length}`);
      if (i === this.early - 1) bytesOf = this.withCopies(bytesOf);
      const running = part.run({ bytesOf, isDirty, control });
      if (running) await running;
    }
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  /** Values that cross parts are new in every run. */
  private isDirty(storage: Storage, dirty: readonly ByteRange[]): boolean {
    if (!storage.isInput) return true;
    const from = this.whole.layout.places.get(storage)!.byteOffset;
    return dirty.some((range) => range.from < from + storage.byteLength && range.to > from);
  }

  /** Copies, because the next run may write its inputs before this run ends. */
  private withCopies(bytesOf: BytesOf): BytesOf {
    if (this.late.length === 0) return bytesOf;
    const copies = new Map(this.late.map((storage) => [storage, bytesOf(storage).slice()]));
    return (storage) => copies.get(storage) ?? bytesOf(storage);
  }

  private bytesOf(storage: Storage): Uint8Array {
    const { layout, io } = this.whole;
    const { region, byteOffset } = layout.places.get(storage)!;
    if (region !== 'arena') return new Uint8Array(io[region], byteOffset, storage.byteLength);
    const known = this.crossing.get(storage) ?? new Uint8Array(storage.byteLength);
    this.crossing.set(storage, known);
    return known;
  }
}
