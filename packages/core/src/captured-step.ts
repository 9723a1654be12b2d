import type { CapturedGraph, ChainOptions, ChainResult, ChainRule } from './capability/graph.js';
import { runInTurns } from './cooperative.js';
import { dtypeBytes, elementCount, type HostArray, hostArray, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type ChainTensors, needChain } from './plan/chain.js';
import type { PreparedPlan } from './plan/prepare.js';
import type { Recorder } from './recorder.js';
import type { ResourceOwner } from './resources.js';
import type { StepTensor } from './step-tensor.js';
import type { Tensor } from './tensor.js';

/** Input values for a later replay. */
interface Write {
  readonly input: StepTensor;
  readonly bytes: Uint8Array;
  readonly byteOffset: number;
}

/** Frees a plan between two runs. */
const release = (owner: ResourceOwner, plan: PreparedPlan): void =>
  owner.queue.between(() => {
    if (!owner.disposed) plan.dispose();
  });

/** A recorded step that runs many times. */
export class CapturedStep implements CapturedGraph {
  private readonly views = new Map<Tensor, HostArray>();
  private ended = false;
  /** Requested replays whose inputs the device has not taken yet. */
  private ahead = 0;
  /** Writes since the latest requested replay. */
  private later: Write[] = [];

  private constructor(
    private readonly owner: ResourceOwner,
    private readonly step: Recorder,
    private readonly chain: ChainTensors | undefined,
    private readonly plan: PreparedPlan,
  ) {
    for (const resource of step.held) resource.dependents.add(this);
  }

  /** The call finishes the step. */
  static async capture(
    owner: ResourceOwner,
    step: Recorder,
    rule: ChainRule | undefined,
  ): Promise<CapturedStep> {
    const chain = rule && needChain(rule, (name, tensor) => step.own('capture', name, tensor));
    const preparing = runInTurns(step.finish({ timed: false, captured: true, chain }));
    const capturing = owner.queue.beside(async () => {
      const prepared = await preparing;
      try {
        await prepared.capture();
      } catch (error) {
        prepared.dispose();
        throw error;
      }
      return prepared;
    });
    const [captured] = await Promise.allSettled([capturing]);
    try {
      step.needHeld('capture'); // a freed resource is reported before the driver's own error
      return new CapturedStep(owner, step, chain, await capturing);
    } catch (error) {
      if (captured.status === 'fulfilled') release(owner, captured.value);
      throw error;
    }
  }

  get disposed(): boolean {
    return this.ended || this.owner.disposed;
  }

  write(input: Tensor, values: HostArray, at?: number): void {
    this.needLive('write');
    const own = this.needInput(input, values, at);
    const bytes = new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    const byteOffset = own.byteOffset + (at ?? 0) * dtypeBytes[own.dtype];
    if (this.ahead === 0) this.plan.writeInput(own.storage, bytes, byteOffset);
    else this.later.push({ input: own, bytes: bytes.slice(), byteOffset });
  }

  replay({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.inTurn('replay', (handed) => {
      const run = this.plan.run(signal);
      if (this.plan.handedAtOnce) handed();
      return run;
    });
  }

  async replayChain(options: ChainOptions): Promise<ChainResult> {
    this.needLimits(options.limits);
    return this.inTurn('replayChain', (handed) => {
      const run = this.plan.runChain(options);
      if (this.plan.chainsByDriver) handed();
      return run;
    });
  }

  read(tensor: Tensor): HostArray {
    this.needLive('read');
    const known = this.views.get(tensor);
    if (known?.length) return known; // a view of transferred memory is empty
    const view = this.view(tensor);
    this.views.set(tensor, view);
    return view;
  }

  dispose(): void {
    if (this.ended) return;
    this.ended = true;
    for (const resource of this.step.held) resource.dependents.delete(this);
    release(this.owner, this.plan);
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Host memory of the tensor: the same after every replay. */
  private view(tensor: Tensor): HostArray {
    const own = this.step.own('read', 'tensor', tensor);
    const bytes = this.plan.kept(own.storage);
    if (!bytes)
      throw new BackendError(
        'NOT_KEPT',
        '[read] the tensor was not kept: call step.keep(tensor) before capturing',
      );
    return hostArray(own.dtype, bytes.buffer, bytes.byteOffset + own.byteOffset, elementCount(own.shape));
  }

  /**
   * Runs the plan in its turn, with the inputs of now. Later writes wait until the device has taken the inputs. A
   * device with one plan at a time may read its inputs until the run ends.
   */
  private inTurn<T>(op: string, run: (handed: () => void) => Promise<T>): Promise<T> {
    const writes = this.later;
    this.later = [];
    this.ahead++;
    let holds = true;
    const free = () => {
      if (holds) this.ahead--;
      holds = false;
      if (this.ahead === 0) this.apply(this.later.splice(0));
    };
    const { queue } = this.owner;
    return queue.plan((handed) => {
      try {
        this.needLive(op);
        this.apply(writes);
        const result = run(() => {
          if (queue.plansInFlight > 1) free();
          handed();
        });
        result.then(free, free);
        return result;
      } catch (error) {
        free();
        throw error;
      }
    });
  }

  private apply(writes: readonly Write[]): void {
    if (this.disposed) return;
    for (const { input, bytes, byteOffset } of writes) this.plan.writeInput(input.storage, bytes, byteOffset);
  }

  /** The step's own tensor behind the caller's input. Throws if the values do not fit. */
  private needInput(input: Tensor, values: HostArray, at: number | undefined): StepTensor {
    const own = this.step.own('write', 'input', input);
    if (!own.storage.isInput)
      throw new BackendError('BAD_ARGUMENT', '[write] the tensor is not an input of the graph');
    const count = elementCount(own.shape);
    if (at !== undefined && !(Number.isSafeInteger(at) && at >= 0))
      throw new BackendError('BAD_ARGUMENT', `[write] at must be a whole number of 0 or more; got ${at}`);
    if (at === undefined ? values.length !== count : at + values.length > count)
      throw new BackendError(
        'BAD_SHAPE',
        `[write] an input ${showShape(own.shape)} does not take ${values.length} values${at === undefined ? '' : ` from element ${at} on`}`,
      );
    if (
      values.BYTES_PER_ELEMENT !== dtypeBytes[own.dtype] ||
      values instanceof Float32Array !== (own.dtype === 'f32')
    )
      throw new BackendError(
        'BAD_DTYPE',
        `[write] an input of ${own.dtype} does not take ${values.constructor.name}`,
      );
    return own;
  }

  private needLimits(limits: Int32Array): void {
    if (!this.chain)
      throw new BackendError('BAD_ARGUMENT', '[replayChain] the graph was captured without a chain');
    const rows = elementCount(this.chain.output.shape);
    if (!(limits instanceof Int32Array && limits.buffer instanceof SharedArrayBuffer))
      throw new BackendError('BAD_ARGUMENT', '[replayChain] limits must be an Int32Array in shared memory');
    if (limits.length !== rows)
      throw new BackendError(
        'BAD_ARGUMENT',
        `[replayChain] a chain of ${rows} rows has no ${limits.length} limits`,
      );
    const { most } = this.chain;
    const wrong = limits.find((limit) => !(limit >= 1 && limit <= most));
    if (wrong !== undefined)
      throw new BackendError('BAD_ARGUMENT', `[replayChain] limits must be from 1 to ${most}; got ${wrong}`);
  }

  private needLive(op: string): void {
    if (this.disposed)
      throw new BackendError(
        'DISPOSED',
        `[${op}] the captured graph has been disposed, or a weight or buffer it holds has`,
      );
  }
}
