import type { Driver } from './driver.js';
import type { DriverBuffer, DriverWeight } from './driver-memory.js';
import { type DType, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type KvBuffer, type KvSpec, kvBlockBytes, kvOf, kvShape } from './kv/kv-buffer.js';
import type { BufferOperand, WeightOperand } from './plan/plan.js';
import type { RunQueue } from './run-queue.js';
import type { Weight, WeightFormat } from './weight.js';

/** The parts of a backend that resources use. */
export interface ResourceOwner {
  readonly name: string;
  readonly disposed: boolean;
  readonly driver: Driver;
  readonly queue: RunQueue;
}

/** A device object with a life of its own: a weight or a buffer. */
export abstract class Resource {
  private freed = false;
  /** Captured graphs that hold this resource; disposed with it. */
  readonly dependents = new Set<{ dispose(): void }>();

  constructor(
    readonly owner: ResourceOwner,
    private readonly label: string,
  ) {}

  protected abstract release(): void;

  get disposed(): boolean {
    return this.freed || this.owner.disposed;
  }

  needLive(op: string): void {
    if (this.disposed) throw new BackendError('DISPOSED', `[${op}] ${this.label} has been disposed`);
  }

  dispose(): void {
    if (this.disposed) return;
    this.freed = true;
    for (const dependent of [...this.dependents]) dependent.dispose();
    this.owner.queue.between(() => {
      if (!this.owner.disposed) this.release();
    });
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

export class LoadedWeight extends Resource implements Weight, WeightOperand {
  readonly kind = 'weight';

  constructor(
    owner: ResourceOwner,
    readonly name: string,
    readonly shape: readonly number[],
    readonly format: WeightFormat,
    readonly handle: DriverWeight,
  ) {
    super(owner, `weight '${name}'`);
  }

  get byteLength(): number {
    return this.handle.byteLength;
  }

  protected release(): void {
    this.owner.driver.freeWeight(this.handle);
  }
}

export class OwnedKvBuffer extends Resource implements KvBuffer, BufferOperand {
  readonly kind = 'buffer';
  readonly shape: readonly number[];
  readonly byteLength: number;

  constructor(
    owner: ResourceOwner,
    private readonly spec: KvSpec,
    readonly handle: DriverBuffer,
  ) {
    super(owner, `cache buffer ${showShape(kvShape(spec))}`);
    this.shape = kvShape(spec);
    this.byteLength = spec.blocks * kvBlockBytes(spec);
  }

  get dtype(): DType {
    return this.spec.dtype;
  }

  async readBlocks(first: number, count = 1): Promise<Uint8Array> {
    this.needBlocks('readBlocks', first, count);
    const bytes = new Uint8Array(count * kvBlockBytes(this.spec));
    const { driver, queue } = this.owner;
    if (count > 0) await queue.run(() => kvOf(driver).read(this.handle, first, count, bytes));
    return bytes;
  }

  async writeBlocks(first: number, bytes: Uint8Array): Promise<void> {
    const count = bytes.length / kvBlockBytes(this.spec);
    this.needBlocks('writeBlocks', first, count);
    const { driver, queue } = this.owner;
    if (count > 0) await queue.run(() => kvOf(driver).write(this.handle, first, count, bytes));
  }

  protected release(): void {
    this.owner.driver.memory.free(this.handle);
  }

  private needBlocks(op: string, first: number, count: number): void {
    this.needLive(op);
    const { blocks } = this.spec;
    const whole = Number.isInteger(first) && Number.isInteger(count);
    if (!(whole && first >= 0 && count >= 0 && first + count <= blocks))
      throw new BackendError(
        'BAD_ARGUMENT',
        `[${op}] ${count} blocks from block ${first} on do not lie within a buffer of ${blocks} blocks of ${kvBlockBytes(this.spec)} bytes`,
      );
  }
}
