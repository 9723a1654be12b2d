import type { Backend } from './backend.js';
import type { Graph } from './capability/graph.js';
import type { MoeFused } from './capability/moe-fused.js';
import type { PagedKv } from './capability/paged-kv.js';
import type { QuantGguf } from './capability/quant-gguf.js';
import { checkGptqSource, type GptqSource, type QuantGptq } from './capability/quant-gptq.js';
import type { Timer } from './capability/timer.js';
import { CapturedStep } from './captured-step.js';
import { needDriver } from './check-driver.js';
import { contractVersion } from './contract.js';
import { type Cooperative, runAtOnce, runInTurns } from './cooperative.js';
import type { DeviceCeilings, MeasureOptions } from './device-profile.js';
import type { Driver } from './driver.js';
import type { DriverWeight } from './driver-memory.js';
import { type DType, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type FusedOpName, fusedOps } from './fusions/index.js';
import { recordOps } from './generated/ops.js';
import { guardDriver } from './guard-driver.js';
import { cacheDtypes } from './kv/cache-row.js';
import { type KvSpec, kvOf } from './kv/kv-buffer.js';
import { KvCache } from './kv/kv-cache.js';
import { filledOf, needOpSupport, supportsOp } from './manifest.js';
import { adviceFor } from './options/nearest-name.js';
import { bf16Temporaries, storesBf16 } from './plan/bf16-temporaries.js';
import { decomposeOps, type Filled } from './plan/fill.js';
import { fusePlan } from './plan/fuse.js';
import { layOut } from './plan/layout.js';
import type { Plan } from './plan/plan.js';
import { type PlanUse, type PreparedPlan, preparePlan } from './plan/prepare.js';
import { recordCollective, recordMoe } from './record-capabilities.js';
import { Recorder, type RecorderHost } from './recorder.js';
import { rehearsalDriver } from './rehearsal-driver.js';
import { LoadedWeight, OwnedKvBuffer, type ResourceOwner } from './resources.js';
import { RunQueue } from './run-queue.js';
import type { Step, StepMemory } from './step.js';
import { denseFormats, type WeightSource } from './weight.js';
import { checkParts } from './weight-parts.js';

export interface BackendOptions {
  /**
   * Fused ops to use: all of the driver (true, the default), none, or the named ones. moeFused exists only with `moe`.
   */
  readonly fuse?: boolean | readonly FusedOpName[] | undefined;
  /** Guard bytes around every kept tensor, checked after each run: finds kernels that write outside. For tests. */
  readonly guard?: number | undefined;
  /**
   * Store a temporary as bf16 if all its readers round it to bf16 and the driver can. Default true; results have the
   * same bits.
   */
  readonly bf16Temporaries?: boolean | undefined;
}

/** Everything of a Backend except its op calls. */
class BackendCore implements ResourceOwner, RecorderHost {
  readonly queue: RunQueue;
  readonly runs: Record<string, number> = {};
  readonly filled: Filled;
  disposed = false;
  private readonly bf16: boolean;

  constructor(
    readonly driver: Driver,
    private readonly options: BackendOptions,
  ) {
    this.filled = filledOf(driver);
    this.queue = new RunQueue(driver.profile.plansInFlight);
    this.bf16 = (options.bf16Temporaries ?? true) && storesBf16(driver.manifest);
  }

  get name(): string {
    return this.driver.name;
  }

  needLive(op: string): void {
    if (this.disposed) throw new BackendError('DISPOSED', `[${op}] backend '${this.name}' has been disposed`);
  }

  needSupport(...[op, operands]: Parameters<RecorderHost['needSupport']>): void {
    needOpSupport(this.driver, op, operands);
  }

  *prepare(plan: Plan, use: PlanUse): Cooperative<PreparedPlan> {
    const rewritten = yield* this.rewrite(plan);
    const options = { guard: this.options.guard ?? 0, bf16: this.bf16, filled: this.filled, ...use };
    return yield* preparePlan(this.driver, rewritten, options, (op) => {
      this.runs[op] = (this.runs[op] ?? 0) + 1;
    });
  }

  measure(plan: Plan): StepMemory {
    const rewritten = runAtOnce(this.rewrite(plan));
    const bf16 = this.bf16 ? bf16Temporaries(rewritten, this.driver.manifest) : undefined;
    const { arenaBytes, inputsBytes, outputsBytes } = layOut(rewritten, { bf16 });
    return { arenaBytes, inputsBytes, outputsBytes };
  }

  /** The ops as they will run: fused if the driver can, decomposed if the driver lacks the op. */
  private *rewrite(plan: Plan): Cooperative<Plan> {
    const fused = yield* fusePlan(
      plan,
      (op, candidate) => this.mayFuse(op.name) && supportsOp(this.driver, op, candidate.operands),
    );
    return decomposeOps(fused, this.filled);
  }

  runOnce(preparing: Promise<PreparedPlan>, signal: AbortSignal | undefined): Promise<void> {
    preparing.catch(() => {}); // the run rejects with it
    return this.queue.plan(async (handed) => {
      const { disposed } = this; // a run whose turn comes before the backend ends is computed
      const plan = await preparing;
      try {
        if (disposed) this.needLive('run');
        const run = plan.run(signal);
        if (plan.handedAtOnce) handed();
        await run;
      } finally {
        plan.dispose();
      }
    });
  }

  async loadWeight(source: WeightSource): Promise<LoadedWeight> {
    this.needLive('loadWeight');
    this.needFormat(source);
    checkParts(source);
    const handle = await this.queue.beside(() => this.driver.loadWeight(source));
    return this.loaded(source, handle);
  }

  async loadGptq(source: GptqSource): Promise<LoadedWeight> {
    this.needLive('quantGptq.loadWeight');
    const bits = this.driver.capabilities!.quantGptq!.bits;
    if (!bits.includes(source.bits))
      throw new BackendError(
        'UNSUPPORTED',
        `[quantGptq.loadWeight] backend '${this.name}' reads weights of ${bits.join(' and ')} bits; '${source.name}' has ${source.bits}`,
      );
    checkGptqSource(source);
    const handle = await this.queue.beside(() => this.driver.loadGptq!(source));
    const { name, shape } = source;
    return this.loaded({ name, shape, format: handle.format }, handle);
  }

  kvBuffer(spec: KvSpec): OwnedKvBuffer {
    this.needLive('kvBuffer');
    needKvSpec(spec);
    return new OwnedKvBuffer(this, { ...spec }, kvOf(this.driver).allocate(spec));
  }

  measureCeilings(options?: MeasureOptions): Promise<DeviceCeilings> {
    return this.queue.run(async () => {
      this.needLive('measureCeilings');
      return this.driver.measureCeilings!(options);
    });
  }

  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.queue.whenIdle(() => this.driver.dispose());
  }

  private loaded(
    { name, shape, format }: Pick<WeightSource, 'name' | 'shape' | 'format'>,
    handle: DriverWeight,
  ): LoadedWeight {
    if (this.disposed)
      throw new BackendError(
        'DISPOSED',
        `[loadWeight] backend '${this.name}' was disposed while '${name}' was loading`,
      );
    return new LoadedWeight(this, name, shape, format, handle);
  }

  mayFuse(name: string): boolean {
    const { fuse = true } = this.options;
    return typeof fuse === 'boolean' ? fuse : (fuse as readonly string[]).includes(name);
  }

  private needFormat({ name, format, shape }: WeightSource): void {
    const native = this.driver.capabilities?.quantGguf?.formats ?? [];
    if (!(denseFormats as readonly string[]).includes(format) && !native.includes(format))
      throw new BackendError(
        'UNSUPPORTED',
        `[loadWeight] backend '${this.name}' cannot read '${name}' in format ${format}; it reads ${[...denseFormats, ...native].join(', ')}`,
      );
    if (shape.length === 0 || shape.some((d) => !Number.isInteger(d) || d < 1))
      throw new BackendError('BAD_WEIGHT', `[loadWeight] '${name}' has shape ${showShape(shape)}`);
  }
}

/** Throws BAD_ARGUMENT. */
function needKvSpec({ dtype, ...sizes }: KvSpec): void {
  const bad = (message: string) => new BackendError('BAD_ARGUMENT', `[kvBuffer] ${message}`);
  for (const [name, size] of Object.entries(sizes))
    if (!(Number.isSafeInteger(size) && size > 0))
      throw bad(`${name} must be a whole number above 0; got ${size}`);
  if (!(cacheDtypes as readonly DType[]).includes(dtype))
    throw bad(`dtype must be ${cacheDtypes.join(', ')}; got ${dtype}`);
}

function pagedKv(backend: Backend, blockSizes: readonly number[]): PagedKv {
  return {
    blockSizes,
    createCache: ({ blocks, blockSize, ...options }) => KvCache.allocate(backend, options, blocks, blockSize),
  };
}

/** The recorder behind a step of this backend. */
function ownStep(core: BackendCore, op: string, step: Step): Recorder {
  core.needLive(op);
  if (!(step instanceof Recorder && step.belongsTo(core)))
    throw new BackendError('WRONG_STEP', `[${op}] the step belongs to another backend`);
  return step;
}

const graph = (core: BackendCore): Graph => ({
  capture: async (step, { chain } = {}) => CapturedStep.capture(core, ownStep(core, 'capture', step), chain),
});

const moeFused: MoeFused = { moe: recordMoe };

const timer = (core: BackendCore): Timer => ({
  async run(step) {
    const preparing = runInTurns(ownStep(core, 'timer', step).finish({ timed: true, captured: false }));
    await core.runOnce(preparing, undefined);
    return (await preparing).opTimes();
  },
});

function capabilitiesOf(core: BackendCore, backend: Backend): Partial<Backend> {
  const {
    pagedKv: paged,
    quantGguf,
    quantGptq,
    kvQuant,
    collective,
    ...declared
  } = core.driver.capabilities ?? {};
  const isTable = 'kernels' in core.driver;
  const gguf: QuantGguf | undefined = quantGguf && { formats: new Set(quantGguf.formats) };
  const gptq: QuantGptq | undefined = quantGptq && {
    bits: new Set(quantGptq.bits),
    loadWeight: (source) => core.loadGptq(source),
  };
  return {
    ...(paged && { pagedKv: pagedKv(backend, paged.blockSizes) }),
    ...(gguf && { quantGguf: gguf }),
    ...(gptq && { quantGptq: gptq }),
    ...(declared.moeFused && core.mayFuse('moe') && { moeFused }),
    ...(collective && { collective: { ...collective, ...recordCollective(collective.worldSize) } }),
    ...(kvQuant && { kvQuant: { dtypes: new Set(kvQuant.dtypes) } }),
    ...((isTable || declared.graph) && { graph: graph(core) }),
    ...((isTable || declared.timer) && { timer: timer(core) }),
  };
}

/**
 * Makes a Backend from a driver. A driver error that is no QuernError becomes DEVICE_FAILED. Throws BAD_DRIVER for an
 * invalid name, profile or capability, an unknown op, a manifest without a core op, a claimed kernel that is missing, or a claimed
 * capability without its parts.
 */
export function defineBackend(driver: Driver, options: BackendOptions = {}): Backend {
  needDriver(driver);
  for (const name of Array.isArray(options.fuse) ? options.fuse : [])
    if (!Object.hasOwn(fusedOps, name))
      throw new BackendError(
        'BAD_ARGUMENT',
        `there is no fused op '${name}': ${adviceFor(name, Object.keys(fusedOps))}`,
      );
  const core = new BackendCore(guardDriver(driver), options);
  const backend: Backend = {
    ...recordOps,
    contract: contractVersion,
    name: driver.name,
    profile: driver.profile,
    filled: core.filled,
    ...(driver.measureCeilings && { measureCeilings: (options) => core.measureCeilings(options) }),
    freeMemory: () => core.driver.freeMemory(),
    step() {
      core.needLive('step');
      return new Recorder(core);
    },
    kvBuffer: (spec) => core.kvBuffer(spec),
    loadWeight: (source) => core.loadWeight(source),
    kernelRuns: () => ({ ...core.runs, ...core.driver.kernelRuns?.() }),
    get disposed() {
      return core.disposed;
    },
    dispose: () => core.dispose(),
    [Symbol.dispose]: () => core.dispose(),
  };
  made.set(backend, { driver, options });
  return Object.assign(backend, capabilitiesOf(core, backend));
}

const made = new WeakMap<Backend, { readonly driver: Driver; readonly options: BackendOptions }>();

/** The driver behind a backend, for tools that test drivers; undefined if another copy of core made the backend. */
export const driverOf = (backend: Backend): Driver | undefined => made.get(backend)?.driver;

/**
 * A backend that records, fuses and lays out like `backend`, without memory: weights have no bytes, a run throws
 * UNSUPPORTED. Purpose: `step.memory()` of a model before its weights are loaded.
 * @throws BackendError WRONG_CONTRACT if another copy of @quern/core made the backend
 */
export function rehearse(backend: Backend): Backend {
  const known = made.get(backend);
  if (known)
    return Object.assign(defineBackend(rehearsalDriver(known.driver), known.options), {
      rehearsal: true as const,
    });
  throw new BackendError(
    'WRONG_CONTRACT',
    `[rehearse] backend '${backend.name}' was made by another copy of @quern/core: install one copy for all packages`,
  );
}
