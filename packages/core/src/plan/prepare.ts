import type { ChainOptions, ChainResult } from '../capability/graph.js';
import type { OpTime } from '../capability/timer.js';
import type { Cooperative } from '../cooperative.js';
import type { Driver, HostMemoryUse, PlanChain, PlanIo } from '../driver.js';
import { BackendError } from '../error.js';
import { hostBytes } from '../host-memory.js';
import { AbortSwitch } from './abort-switch.js';
import { bf16Temporaries } from './bf16-temporaries.js';
import { type ChainTensors, chainByReplays, changedWords, placeChain } from './chain.js';
import { ChainListener } from './chain-listener.js';
import { cutPlan, type PlanPart } from './cut-plan.js';
import { DirtyInputs } from './dirty-inputs.js';
import { encodePlan } from './encode.js';
import { takeFault, withOpName } from './fault.js';
import type { Filled } from './fill.js';
import { KernelRun } from './kernel-run.js';
import { type Layout, layOut } from './layout.js';
import { opName } from './op-name.js';
import { type DevicePlan, PartsRun } from './parts-run.js';
import type { Plan, PlanOp, Storage } from './plan.js';
import { ExecutorRunner, type Runner } from './runner.js';

/** A plan with its memory: ready to run, once or many times. */
export interface PreparedPlan {
  /** Writes `bytes` into an input, from its byte `byteOffset` on. */
  writeInput(storage: Storage, bytes: Uint8Array, byteOffset?: number): void;
  /** The bytes of a kept storage, or undefined. */
  kept(storage: Storage): Uint8Array | undefined;
  /** Passes the plan to the driver for replays. */
  capture(): Promise<void>;
  /** The device has the whole plan when `run` returns: the next plan may follow. */
  readonly handedAtOnce: boolean;
  run(signal?: AbortSignal): Promise<void>;
  /** A chain is one call of the driver: the driver has the whole chain when `runChain` returns. */
  readonly chainsByDriver: boolean;
  /** Replays by the plan's chain until every row has ended. */
  runChain(options: ChainOptions): Promise<ChainResult>;
  /** Device time of each op in the last run, if `timed`. */
  opTimes(): readonly OpTime[];
  dispose(): void;
}

export interface PlanUse {
  readonly timed: boolean;
  /** The plan will run many times, perhaps again before the first run has ended. */
  readonly captured: boolean;
  /** Chain rule of the plan. */
  readonly chain?: ChainTensors | undefined;
}

export interface PrepareOptions extends PlanUse {
  /** Guard bytes around each kept tensor; 0: none. */
  readonly guard: number;
  /** Temporaries may be stored as bf16. */
  readonly bf16: boolean;
  /** Ops that the driver lacks. */
  readonly filled: Filled;
}

const noStops = new Int32Array(0);

/** NaN in every floating dtype: makes unwritten outputs visible. */
const poison = 0xff;

/** Host memory that native code may use whatever JavaScript does with it, if the driver has such memory. */
const memoryOf = (driver: Driver, byteLength: number, use: HostMemoryUse): ArrayBuffer =>
  'executor' in driver && driver.executor.hostMemory
    ? driver.executor.hostMemory(byteLength, use)
    : hostBytes(byteLength);

/** Host memory of a plan, and the control and fault words shared by driver and core. */
function ioOf(
  driver: Driver,
  { inputsBytes, outputsBytes }: Layout,
  control: Int32Array,
  times: Float64Array | undefined,
): PlanIo {
  return {
    inputs: memoryOf(driver, inputsBytes, 'inputs'),
    outputs: memoryOf(driver, outputsBytes, 'outputs'),
    control,
    fault: new Int32Array(new SharedArrayBuffer(8)),
    ...(times && { times }),
  };
}

function freeInputs(driver: Driver, { inputs }: PlanIo): void {
  if ('executor' in driver) driver.executor.freeHostMemory?.(inputs);
}

/** One control word per run in flight. A word is reused after its run has ended. */
class Controls {
  private readonly switches: readonly AbortSwitch[];
  private next = 0;

  constructor(private readonly words: readonly Int32Array[]) {
    this.switches = words.map((word) => new AbortSwitch(word));
  }

  /** The control word of a new run. */
  arm(signal: AbortSignal | undefined): Int32Array {
    const at = this.next;
    this.next = (at + 1) % this.words.length;
    this.switches[at]!.arm(signal);
    return this.words[at]!;
  }

  disarm(): void {
    for (const one of this.switches) one.arm(undefined);
  }
}

const controlWords = (count: number): Int32Array[] =>
  Array.from({ length: count }, () => new Int32Array(new SharedArrayBuffer(4)));

class Prepared implements PreparedPlan {
  private readonly io: PlanIo;
  private readonly inputs: DirtyInputs;
  private readonly controls: Controls;
  private readonly chain: PlanChain | undefined;
  private readonly runner: Runner;
  /** A caller has an array inside the inputs' memory. */
  private inputsSeen = false;

  constructor(
    private readonly driver: Driver,
    private readonly plan: Plan,
    private readonly layout: Layout,
    private readonly options: PrepareOptions,
    runnerOf: (io: PlanIo) => Runner,
  ) {
    const controls = controlWords((options.captured && driver.profile.plansInFlight) || 1);
    const times = options.timed ? new Float64Array(plan.ops.length) : undefined;
    this.io = ioOf(driver, layout, controls[0]!, times);
    this.inputs = new DirtyInputs(this.io.inputs);
    this.controls = new Controls(controls);
    this.chain = options.chain && placeChain(options.chain, this.layout);
    this.runner = runnerOf(this.io);
  }

  get handedAtOnce(): boolean {
    return !this.runner.inParts;
  }

  get chainsByDriver(): boolean {
    return this.runner.runChain !== undefined;
  }

  async capture(): Promise<void> {
    await this.runner.capture?.(this.chain);
  }

  writeInput(storage: Storage, bytes: Uint8Array, byteOffset = 0): void {
    this.needInPlace('write', 'inputs');
    this.inputs.write(this.layout.places.get(storage)!.byteOffset + byteOffset, bytes);
  }

  kept(storage: Storage): Uint8Array | undefined {
    const place = this.layout.places.get(storage);
    if (!place || place.region === 'arena') return undefined;
    this.needInPlace('read', place.region);
    this.inputsSeen ||= place.region === 'inputs';
    return new Uint8Array(this.io[place.region], place.byteOffset, storage.byteLength);
  }

  run(signal?: AbortSignal): Promise<void> {
    return this.begin(signal, (control) => this.runner.run(this.inputs.take(), control));
  }

  async runChain({ limits, stops = noStops, signal, onTokens }: ChainOptions): Promise<ChainResult> {
    const { results, counts } = this.chain!;
    const listener = onTokens && new ChainListener(this.chain!, limits, onTokens);
    const onReplays = listener?.onReplays;
    const running = this.begin(signal, (control) =>
      this.runner.runChain
        ? this.runner.runChain(limits, stops, this.inputs.take(), control, onReplays)
        : this.chainByReplays(limits, stops, control, onReplays),
    );
    const done = await (listener ? listener.ending(running) : running);
    return { tokens: results.slice(0, done * counts.length), counts: counts.slice() };
  }

  opTimes(): readonly OpTime[] {
    const { ops } = this.plan;
    const { times } = this.io;
    return ops.map(({ op }, i) => ({ op: op.name, name: opName(ops, i), milliseconds: times![i]! }));
  }

  dispose(): void {
    this.controls.disarm();
    this.runner.dispose();
    if (!this.inputsSeen) freeInputs(this.driver, this.io);
  }

  /**
   * Throws BAD_ARGUMENT if JavaScript has transferred an array that it read: such arrays share memory with the step.
   */
  private needInPlace(op: string, region: 'inputs' | 'outputs'): void {
    if (this.io[region].byteLength === this.layout[`${region}Bytes`]) return;
    throw new BackendError(
      'BAD_ARGUMENT',
      `[${op}] the memory of the step's ${region} has been transferred; give away copies of what you read (slice()), and capture the step anew`,
    );
  }

  private chainByReplays(
    limits: Int32Array,
    stops: Int32Array,
    control: Int32Array,
    onReplays: ((done: number) => void) | undefined,
  ): Promise<number> {
    const chain = this.chain!;
    const changed = changedWords(chain);
    const replay = () => {
      for (const words of changed) this.inputs.markWords(words);
      return this.runner.run(this.inputs.take(), control);
    };
    return chainByReplays(replay, this.io, chain, limits, stops, onReplays);
  }

  private begin<T>(signal: AbortSignal | undefined, run: (control: Int32Array) => Promise<T>): Promise<T> {
    if (signal?.aborted)
      return Promise.reject(new BackendError('ABORTED', 'the run was aborted before it began'));
    this.needInPlace('run', 'inputs');
    this.needInPlace('run', 'outputs');
    const control = this.controls.arm(signal);
    const running = this.options.guard ? this.guarded(() => run(control)) : run(control);
    return running.then(this.settled, this.failed);
  }

  /** Throws if the driver has flagged an op. */
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

  /** Throws BAD_DRIVER if a guard byte has changed. */
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

const layoutOf = (driver: Driver, plan: Plan, { guard, bf16 }: PrepareOptions): Layout =>
  layOut(plan, {
    guard,
    bf16: bf16 ? bf16Temporaries(plan, driver.manifest) : undefined,
    placing: driver.profile.placing,
  });

type CountRun = (op: string) => void;

/** Encodes a plan without host ops. */
function* encodeFor(
  driver: Driver,
  plan: Plan,
  layout: Layout,
  countRun: CountRun,
): Cooperative<(io: PlanIo) => Runner> {
  if ('kernels' in driver) return (io) => new KernelRun(driver, plan, layout, io, countRun);
  const { executor } = driver;
  const encoded = encodePlan(plan.ops, layout);
  yield;
  return (io) => new ExecutorRunner(executor, encoded, io);
}

/** Lays out and encodes each part of a plan with host ops. */
function* encodeParts(
  driver: Driver,
  plan: Plan,
  isHost: (op: PlanOp) => boolean,
  options: PrepareOptions,
  countRun: CountRun,
): Cooperative<(layout: Layout, io: PlanIo) => Runner> {
  const parts = cutPlan(plan, isHost);
  const made = new Map<PlanPart, (whole: PlanIo) => DevicePlan>();
  for (const part of parts) {
    if (part.kind === 'host') continue;
    const layout = layoutOf(driver, part.plan, { ...options, guard: 0 });
    yield;
    const runnerOf = yield* encodeFor(driver, part.plan, layout, countRun);
    made.set(part, ({ control, times }) => {
      const io = ioOf(driver, layout, control, times && new Float64Array(part.plan.ops.length));
      return { layout, io, runner: runnerOf(io), free: () => freeInputs(driver, io) };
    });
  }
  return (layout, io) => new PartsRun(plan, parts, { layout, io }, (part) => made.get(part)!(io), countRun);
}

/** Lays a plan out and encodes it. Throws OUT_OF_MEMORY. */
export function* preparePlan(
  driver: Driver,
  plan: Plan,
  options: PrepareOptions,
  countRun: CountRun,
): Cooperative<PreparedPlan> {
  const layout = layoutOf(driver, plan, options);
  yield;
  const isHost = ({ op }: PlanOp) => options.filled[op.name as keyof Filled] === 'host';
  if (plan.ops.some(isHost)) {
    const runnerOf = yield* encodeParts(driver, plan, isHost, options, countRun);
    return new Prepared(driver, plan, layout, options, (io) => runnerOf(layout, io));
  }
  return new Prepared(driver, plan, layout, options, yield* encodeFor(driver, plan, layout, countRun));
}
