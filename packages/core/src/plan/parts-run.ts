import type { PlanIo } from '../driver.js';
import { BackendError } from '../error.js';
import { type Crossing, cutPlan, type DevicePart, type HostPart } from './cut-plan.js';
import { takeFault, withOpName } from './fault.js';
import { runOnHost } from './host-op.js';
import type { Layout } from './layout.js';
import type { Plan, PlanOp, Storage } from './plan.js';
import type { Runner } from './runner.js';

/** A plan with its memory and what runs it. */
export interface LaidOut {
  readonly layout: Layout;
  readonly io: PlanIo;
}

/** The bytes of the whole plan's storages, as one run sees them. */
type BytesOf = (storage: Storage) => Uint8Array;

/** Computes one part. A part of the host has ended when the call returns. */
interface PartRun {
  run(bytesOf: BytesOf): Promise<void> | undefined;
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

  run(bytesOf: BytesOf): undefined {
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

  constructor(
    private readonly part: DevicePart,
    private readonly own: LaidOut,
    private readonly runner: Runner,
    private readonly whole: PlanIo,
  ) {
    this.reads = part.takes.map(({ whole: storage }) => storage);
  }

  async run(bytesOf: BytesOf): Promise<void> {
    const { takes, gives, plan } = this.part;
    for (const crossing of takes) this.ownBytes(crossing).set(bytesOf(crossing.whole));
    await this.runner.run().catch((error: unknown) => {
      throw withOpName(error, this.own.io.fault, plan.ops);
    });
    const fault = takeFault(this.own.io.fault, plan.ops);
    if (fault) throw fault;
    for (const crossing of gives) bytesOf(crossing.whole).set(this.ownBytes(crossing));
    this.tellTimes();
  }

  dispose(): void {
    this.runner.dispose();
  }

  private ownBytes({ own }: Crossing): Uint8Array {
    const { region, byteOffset } = this.own.layout.places.get(own)!;
    return new Uint8Array(this.own.io[region as 'inputs' | 'outputs'], byteOffset, own.byteLength);
  }

  private tellTimes(): void {
    const { times } = this.own.io;
    if (times) this.part.indices.forEach((index, i) => (this.whole.times![index] = times[i]!));
  }
}

/**
 * Runs a plan of which the host computes some ops: part by part, with copies between the parts. Up to the first part of the
 * device all is done when the call returns; inputs that later parts read are copied by then.
 */
export class PartsRun implements Runner {
  private readonly parts: readonly PartRun[];
  /** Parts up to the first of the device, which is one of them. */
  private readonly early: number;
  /** What later parts read of what is there before the first part of the device runs. */
  private readonly late: readonly Storage[];
  /** Values that cross from part to part and are neither inputs nor kept. */
  private readonly crossing = new Map<Storage, Uint8Array>();

  constructor(
    plan: Plan,
    isHost: (op: PlanOp) => boolean,
    private readonly whole: LaidOut,
    makePart: (plan: Plan) => LaidOut & { readonly runner: Runner },
    countRun: (op: string) => void,
  ) {
    const parts = cutPlan(plan, isHost);
    this.parts = parts.map((part) => {
      if (part.kind === 'host') return new HostRun(part, whole.io, countRun);
      const { runner, ...own } = makePart(part.plan);
      return new DeviceRun(part, own, runner, whole.io);
    });
    this.early = parts.findIndex(({ kind }) => kind === 'device') + 1;
    const there = new Set(plan.storages.filter(({ isInput }) => isInput));
    for (const part of parts.slice(0, this.early))
      if (part.kind === 'host') for (const { storage } of part.op.outputs) there.add(storage);
    const readLate = this.parts.slice(this.early).flatMap(({ reads }) => reads);
    this.late = [...new Set(readLate)].filter((storage) => there.has(storage));
  }

  async run(): Promise<void> {
    let bytesOf: BytesOf = (storage) => this.bytesOf(storage);
    for (const [i, part] of this.parts.entries()) {
      if (this.whole.io.control[0])
        throw new BackendError('ABORTED', `the run was aborted before part ${i + 1} of ${this.parts.length}`);
      if (i === this.early - 1) bytesOf = this.withCopies(bytesOf);
      const running = part.run(bytesOf);
      if (running) await running;
    }
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }

  /** The next run may write its inputs before this one ends. */
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
