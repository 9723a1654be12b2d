import type { OpTime } from '../capability/timer.js';
import type { CapturedPlan, Driver, HostMemoryUse, PlanChain, PlanExecutor, PlanIo } from '../driver.js';
import { BackendError } from '../error.js';
import { hostBytes } from '../host-memory.js';
import { AbortSwitch } from './abort-switch.js';
import { bf16Temporaries } from './bf16-temporaries.js';
import { type ChainTensors, chainByReplays, placeChain } from './chain.js';
import { encodePlan } from './encode.js';
import { takeFault, withOpName } from './fault.js';
import type { Filled } from './fill.js';
import { KernelRun } from './kernel-run.js';
import { type Layout, layOut } from './layout.js';
import { opName } from './op-name.js';
import { type LaidOut, PartsRun } from './parts-run.js';
import type { Plan, PlanOp, Storage } from './plan.js';
import type { Runner } from './runner.js';

/** A plan with its memory: ready to run, once or many times. */
export interface PreparedPlan {
  writeInput(storage: Storage, bytes: Uint8Array): void;
  /** The bytes of a kept storage, or undefined. */
  kept(storage: Storage): Uint8Array | undefined;
  run(signal?: AbortSignal): Promise<void>;
  /** Runs up to `count` times by the chain that the plan was prepared with, and gives the words of every run. */
  runChain(count: number, stops: Int32Array, signal?: AbortSignal): Promise<Int32Array>;
  /** What each op of the last run took, where `timed`. */
  opTimes(): readonly OpTime[];
  dispose(): void;
}

export interface PlanUse {
  readonly timed: boolean;
  /** The plan will run many times. */
  readonly captured: boolean;
  /** How it will run in chains. */
  readonly chain?: ChainTensors | undefined;
}

export interface PrepareOptions extends PlanUse {
  /** Bytes around each kept tensor that must stay as they are; 0: none. */
  readonly guard: number;
  /** Temporaries may be stored as bf16. */
  readonly bf16: boolean;
  /** Ops that the driver lacks. */
  readonly filled: Filled;
}

/** NaN in every floating dtype, so that what a kernel leaves unwritten is seen. */
const poison = 0xff;

/** Host memory that native code may work on whatever JavaScript does with it, where the driver has such. */
const memoryOf = (driver: Driver, byteLength: number, use: HostMemoryUse): ArrayBuffer =>
  'executor' in driver && driver.executor.hostMemory
    ? driver.executor.hostMemory(byteLength, use)
    : hostBytes(byteLength);

/** Host memory of a plan, and the words by which driver and core talk about a run. */
function ioOf(
  driver: Driver,
  { inputsBytes, outputsBytes }: Layout,
  times: Float64Array | undefined,
): PlanIo {
  return {
    inputs: memoryOf(driver, inputsBytes, 'inputs'),
    outputs: memoryOf(driver, outputsBytes, 'outputs'),
    control: new Int32Array(new SharedArrayBuffer(4)),
    fault: new Int32Array(new SharedArrayBuffer(8)),
    ...(times && { times }),
  };
}

function executorRunner(
  executor: PlanExecutor,
  plan: Plan,
  layout: Layout,
  io: PlanIo,
  captured: boolean,
  chain: PlanChain | undefined,
): Runner {
  const encoded = encodePlan(plan.ops, layout);
  if (!captured || !executor.capture) return { run: () => executor.execute(encoded, io), dispose() {} };
  const kept: CapturedPlan = executor.capture(encoded, io, chain);
  return {
    run: () => kept.replay(),
    ...(kept.replayChain && { runChain: kept.replayChain.bind(kept) }),
    dispose: () => kept.dispose(),
  };
}

type CountRun = (op: string) => void;

/** What computes a plan whose ops are all the driver's. */
const runnerOf = (
  driver: Driver,
  plan: Plan,
  { layout, io }: LaidOut,
  captured: boolean,
  countRun: CountRun,
  chain?: PlanChain,
): Runner =>
  'kernels' in driver
    ? new KernelRun(driver, plan, layout, io, countRun)
    : executorRunner(driver.executor, plan, layout, io, captured, chain);

/** What computes a plan of which some ops are the host's. */
function partsRunner(
  driver: Driver,
  plan: Plan,
  whole: LaidOut,
  options: PrepareOptions,
  countRun: CountRun,
): Runner {
  const makePart = (part: Plan) => {
    const layout = layoutOf(driver, part, { ...options, guard: 0 });
    const { control, times } = whole.io;
    const io = { ...ioOf(driver, layout, times && new Float64Array(part.ops.length)), control };
    return { layout, io, runner: runnerOf(driver, part, { layout, io }, options.captured, countRun) };
  };
  return new PartsRun(plan, (op) => isHosts(op, options), whole, makePart, countRun);
}

const isHosts = ({ op }: PlanOp, { filled }: PrepareOptions): boolean =>
  filled[op.name as keyof Filled] === 'host';

const layoutOf = (driver: Driver, plan: Plan, { guard, bf16 }: PrepareOptions): Layout =>
  layOut(plan, {
    guard,
    bf16: bf16 ? bf16Temporaries(plan, driver.manifest) : undefined,
    placing: driver.profile.placing,
  });

class Prepared implements PreparedPlan {
  readonly layout: Layout;
  readonly io: PlanIo;
  private readonly inputBytes: Uint8Array;
  private readonly abortSwitch: AbortSwitch;
  private readonly chain: PlanChain | undefined;
  private readonly runner: Runner;
  /** A caller has an array that lies in the inputs. */
  private inputsSeen = false;

  constructor(
    private readonly driver: Driver,
    private readonly plan: Plan,
    private readonly options: PrepareOptions,
    countRun: CountRun,
  ) {
    this.layout = layoutOf(driver, plan, options);
    this.io = ioOf(driver, this.layout, options.timed ? new Float64Array(plan.ops.length) : undefined);
    this.inputBytes = new Uint8Array(this.io.inputs);
    this.abortSwitch = new AbortSwitch(this.io.control);
    this.chain = options.chain && placeChain(options.chain, this.layout);
    this.runner = plan.ops.some((op) => isHosts(op, options))
      ? partsRunner(driver, plan, this, options, countRun)
      : runnerOf(driver, plan, this, options.captured, countRun, this.chain);
  }

  writeInput(storage: Storage, bytes: Uint8Array): void {
    this.needInPlace('write', 'inputs');
    this.inputBytes.set(bytes, this.layout.places.get(storage)!.byteOffset);
  }

  kept(storage: Storage): Uint8Array | undefined {
    const place = this.layout.places.get(storage);
    if (!place || place.region === 'arena') return undefined;
    this.needInPlace('read', place.region);
    this.inputsSeen ||= place.region === 'inputs';
    return new Uint8Array(this.io[place.region], place.byteOffset, storage.byteLength);
  }

  run(signal?: AbortSignal): Promise<void> {
    return this.begin(signal, () => this.runner.run());
  }

  async runChain(count: number, stops: Int32Array, signal?: AbortSignal): Promise<Int32Array> {
    const { runner, io } = this;
    const chain = this.chain!;
    const done = await this.begin(signal, () =>
      runner.runChain
        ? runner.runChain(count, stops)
        : chainByReplays(() => runner.run(), io, chain, count, stops),
    );
    return chain.results.slice(0, done * chain.output.count);
  }

  opTimes(): readonly OpTime[] {
    const { ops } = this.plan;
    const { times } = this.io;
    return ops.map(({ op }, i) => ({ op: op.name, name: opName(ops, i), milliseconds: times![i]! }));
  }

  dispose(): void {
    this.abortSwitch.arm(undefined);
    this.runner.dispose();
    if ('executor' in this.driver && !this.inputsSeen) this.driver.executor.freeHostMemory?.(this.io.inputs);
  }

  /** Throws BAD_ARGUMENT where JavaScript has given away what it read: the views share memory with the step. */
  private needInPlace(op: string, region: 'inputs' | 'outputs'): void {
    if (this.io[region].byteLength === this.layout[`${region}Bytes`]) return;
    throw new BackendError(
      'BAD_ARGUMENT',
      `[${op}] the memory of the step's ${region} has been transferred; give away copies of what you read (slice()), and capture the step anew`,
    );
  }

  private begin<T>(signal: AbortSignal | undefined, run: () => Promise<T>): Promise<T> {
    if (signal?.aborted)
      return Promise.reject(new BackendError('ABORTED', 'the run was aborted before it began'));
    this.needInPlace('run', 'inputs');
    this.needInPlace('run', 'outputs');
    this.abortSwitch.arm(signal);
    const running = this.options.guard ? this.guarded(run) : run();
    return running.then(this.settled, this.failed);
  }

  /** Rejects where the driver has flagged an op. */
  private readonly settled = <T>(result: T): T => {
    const fault = takeFault(this.io.fault, this.plan.ops);
    if (fault) throw fault;
    return result;
  };

  private readonly failed = (error: unknown): never => {
    throw withOpName(error, this.io.fault, this.plan.ops);
  };

  private async guarded<T>(run: () => Promise<T>): Promise<T> {
    new Uint8Array(this.io.outputs).fill(poison);
    const result = await run();
    this.checkGuards();
    return result;
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
      `[${this.plan.ops.map(({ op }) => op.name).join(', ')}] wrote outside its outputs, at byte ${stray} of ${bytes.length}`,
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
