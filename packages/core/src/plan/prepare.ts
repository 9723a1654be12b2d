import type { CapturedPlan, Driver, PlanExecutor, PlanIo } from '../driver.js';
import { BackendError } from '../error.js';
import { hostBytes } from '../host-memory.js';
import { AbortSwitch } from './abort-switch.js';
import { encodePlan } from './encode.js';
import { KernelRun } from './kernel-run.js';
import { type Layout, layOut } from './layout.js';
import type { Plan, Storage } from './plan.js';

/** A plan with its memory: ready to run, once or many times. */
export interface PreparedPlan {
  /** Names of the ops as they will run, after fusion. */
  readonly opNames: readonly string[];
  writeInput(storage: Storage, bytes: Uint8Array): void;
  /** The bytes of a kept storage, or undefined. */
  kept(storage: Storage): Uint8Array | undefined;
  run(signal?: AbortSignal): Promise<void>;
  /** Milliseconds per op of the last run, where `timed`. */
  readonly times: Float64Array | undefined;
  dispose(): void;
}

export interface PlanUse {
  readonly timed: boolean;
  /** The plan will run many times. */
  readonly captured: boolean;
}

export interface PrepareOptions extends PlanUse {
  /** Bytes around each kept tensor that must stay as they are; 0: none. */
  readonly guard: number;
}

/** NaN in every floating dtype, so that what a kernel leaves unwritten is seen. */
const poison = 0xff;

interface Runner {
  run(): Promise<void>;
  dispose(): void;
}

function executorRunner(
  executor: PlanExecutor,
  plan: Plan,
  layout: Layout,
  io: PlanIo,
  captured: boolean,
): Runner {
  const encoded = encodePlan(plan.ops, layout);
  if (!captured || !executor.capture) return { run: () => executor.execute(encoded, io), dispose() {} };
  const kept: CapturedPlan = executor.capture(encoded, io);
  return { run: () => kept.replay(), dispose: () => kept.dispose() };
}

class Prepared implements PreparedPlan {
  readonly opNames: readonly string[];
  readonly times: Float64Array | undefined;
  private readonly layout: Layout;
  private readonly io: PlanIo;
  private readonly inputBytes: Uint8Array;
  private readonly abortSwitch: AbortSwitch;
  private readonly runner: Runner;

  constructor(
    driver: Driver,
    plan: Plan,
    private readonly options: PrepareOptions,
    countRun: (op: string) => void,
  ) {
    this.opNames = plan.ops.map(({ op }) => op.name);
    this.layout = layOut(plan, options.guard);
    this.times = options.timed ? new Float64Array(plan.ops.length) : undefined;
    this.io = {
      inputs: hostBytes(this.layout.inputsBytes),
      outputs: hostBytes(this.layout.outputsBytes),
      control: new Int32Array(1),
      ...(this.times && { times: this.times }),
    };
    this.inputBytes = new Uint8Array(this.io.inputs);
    this.abortSwitch = new AbortSwitch(this.io.control);
    this.runner =
      'kernels' in driver
        ? new KernelRun(driver, plan, this.layout, this.io, countRun)
        : executorRunner(driver.executor, plan, this.layout, this.io, options.captured);
  }

  writeInput(storage: Storage, bytes: Uint8Array): void {
    this.inputBytes.set(bytes, this.layout.places.get(storage)!.byteOffset);
  }

  kept(storage: Storage): Uint8Array | undefined {
    const place = this.layout.places.get(storage);
    if (!place || place.region === 'arena') return undefined;
    return new Uint8Array(this.io[place.region], place.byteOffset, storage.byteLength);
  }

  run(signal?: AbortSignal): Promise<void> {
    if (signal?.aborted)
      return Promise.reject(new BackendError('ABORTED', 'the run was aborted before it began'));
    this.abortSwitch.arm(signal);
    return this.options.guard ? this.guarded() : this.runner.run();
  }

  dispose(): void {
    this.abortSwitch.arm(undefined);
    this.runner.dispose();
  }

  private async guarded(): Promise<void> {
    new Uint8Array(this.io.outputs).fill(poison);
    await this.runner.run();
    this.checkGuards();
  }

  /** Throws BAD_DRIVER where a byte outside the kept tensors has changed. */
  private checkGuards(): void {
    const kept = [...this.layout.places].filter(([, place]) => place.region === 'outputs');
    const bytes = new Uint8Array(this.io.outputs);
    const inside = new Uint8Array(bytes.length);
    for (const [storage, place] of kept)
      inside.fill(1, place.byteOffset, place.byteOffset + storage.byteLength);
    const stray = bytes.findIndex((byte, i) => !inside[i] && byte !== poison);
    if (stray < 0) return;
    throw new BackendError(
      'BAD_DRIVER',
      `[${this.opNames.join(', ')}] wrote outside its outputs, at byte ${stray} of ${bytes.length}`,
    );
  }
}

/** Lays a plan out and gives it to the driver. Throws OUT_OF_MEMORY. */
export function preparePlan(
  driver: Driver,
  plan: Plan,
  options: PrepareOptions,
  countRun: (op: string) => void,
): PreparedPlan {
  return new Prepared(driver, plan, options, countRun);
}
