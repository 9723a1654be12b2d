import {
  type AnyOp,
  type Backend,
  type BackendOptions,
  type Driver,
  defineBackend,
  type FusedOpName,
  type OpSupport,
} from '@quern/core';
import { ClosenessLog } from './closeness.js';
import type { ConformanceOptions } from './conformance-options.js';
import type { NoteShare, OpCase } from './ops/expect.js';
import { coarsestFormat } from './values/compare.js';

/** Guard bytes around kept tensors, checked for stray writes. */
const guard = 256;

/** Makes drivers and backends for the cases, and disposes them at the end. */
export class Lab {
  readonly closeness = new ClosenessLog();
  private readonly opened: Backend[] = [];
  private readonly shared = new Map<string, Promise<Backend>>();

  private constructor(
    readonly options: ConformanceOptions,
    /** A driver for inspection: its claims select the cases. */
    readonly driver: Driver,
    /** The backend of `driver`, for inspection. */
    readonly backend: Backend,
  ) {
    this.opened.push(backend);
  }

  static async start(options: ConformanceOptions): Promise<Lab> {
    const driver = await options.createDriver();
    return new Lab(options, driver, defineBackend(driver));
  }

  /** A new backend, for cases that break things. */
  async open(options: BackendOptions = {}): Promise<Backend> {
    const backend = defineBackend(await this.options.createDriver(), options);
    this.opened.push(backend);
    return backend;
  }

  /** One backend per choice of options, for cases that change nothing of it: some devices take a second to open. */
  reused(options: BackendOptions): Promise<Backend> {
    const key = JSON.stringify(options);
    const known = this.shared.get(key) ?? this.open(options);
    this.shared.set(key, known);
    return known;
  }

  /** A reused backend that detects writes outside tensors. */
  guarded(fuse: boolean | readonly FusedOpName[]): Promise<Backend> {
    return this.reused({ fuse, guard });
  }

  /** Seed of the generated shapes and plans. */
  get seed(): number {
    return this.options.seed ?? 0;
  }

  /** The driver's claim for an op. */
  support(name: string): OpSupport | undefined {
    const { ops, fused } = this.driver.manifest;
    const claims: Readonly<Record<string, OpSupport>> = { ...ops, ...fused };
    return claims[name];
  }

  /** Records a case's share of the op's tolerance. */
  noteOf({ name: op }: AnyOp, { name, operands }: OpCase): NoteShare {
    const format = coarsestFormat(operands);
    return (share) => this.closeness.note({ op, format, share, case: `${op}: ${name}` });
  }

  dispose(): void {
    for (const backend of this.opened) backend.dispose();
  }
}
