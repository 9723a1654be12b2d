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

/** Bytes around kept tensors that are checked for stray writes. */
const guard = 256;

/** Makes drivers and backends for the cases, and disposes of them at the end. */
export class Lab {
  readonly closeness = new ClosenessLog();
  private readonly opened: Backend[] = [];
  private readonly shared = new Map<string, Promise<Backend>>();

  private constructor(
    readonly options: ConformanceOptions,
    /** A driver to look at: its claims decide which cases there are. */
    readonly driver: Driver,
    /** The backend over it, to look at. */
    readonly backend: Backend,
  ) {
    this.opened.push(backend);
  }

  static async start(options: ConformanceOptions): Promise<Lab> {
    const driver = await options.createDriver();
    return new Lab(options, driver, defineBackend(driver));
  }

  /** A backend of its own for cases that break things. */
  async open(options: BackendOptions = {}): Promise<Backend> {
    const backend = defineBackend(await this.options.createDriver(), options);
    this.opened.push(backend);
    return backend;
  }

  /** One backend for all cases that ask for the same fusions; writes outside its tensors are found. */
  guarded(fuse: boolean | readonly FusedOpName[]): Promise<Backend> {
    const key = JSON.stringify(fuse);
    const known = this.shared.get(key) ?? this.open({ fuse, guard });
    this.shared.set(key, known);
    return known;
  }

  /** Chooses the generated shapes and plans. */
  get seed(): number {
    return this.options.seed ?? 0;
  }

  /** What the driver claims for an op. */
  support(name: string): OpSupport | undefined {
    const { ops, fused } = this.driver.manifest;
    const claims: Readonly<Record<string, OpSupport>> = { ...ops, ...fused };
    return claims[name];
  }

  /** Writes down how near a case comes to the op's tolerance. */
  noteOf({ name: op }: AnyOp, { name, operands }: OpCase): NoteShare {
    const format = coarsestFormat(operands);
    return (share) => this.closeness.note({ op, format, share, case: `${op}: ${name}` });
  }

  dispose(): void {
    for (const backend of this.opened) backend.dispose();
  }
}
