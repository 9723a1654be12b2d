import type { CapturedGraph, ChainOptions, ChainRule } from './capability/graph.js';
import { atOnce } from './divided.js';
import { dtypeBytes, elementCount, type HostArray, hostArray, showShape } from './dtype.js';
import { BackendError } from './error.js';
import { type ChainTensors, needChain } from './plan/chain.js';
import type { PreparedPlan } from './plan/prepare.js';
import type { Recorder } from './recorder.js';
import type { ResourceOwner } from './resources.js';
import type { Tensor } from './tensor.js';

const noStops = new Int32Array(0);

/** A recorded step that runs again and again. */
export class CapturedStep implements CapturedGraph {
  private readonly plan: PreparedPlan;
  private readonly chain: ChainTensors | undefined;
  private readonly views = new Map<Tensor, HostArray>();
  private ended = false;

  constructor(
    private readonly owner: ResourceOwner,
    private readonly step: Recorder,
    rule: ChainRule | undefined,
  ) {
    this.chain = rule && needChain(rule, (name, tensor) => step.own('capture', name, tensor));
    this.plan = atOnce(step.finish({ timed: false, captured: true, chain: this.chain }));
    for (const resource of step.held) resource.dependents.add(this);
  }

  get disposed(): boolean {
    return this.ended || this.owner.disposed;
  }

  write(input: Tensor, values: HostArray): void {
    this.needLive('write');
    const own = this.step.own('write', 'input', input);
    if (!own.storage.isInput)
      throw new BackendError('BAD_ARGUMENT', '[write] the tensor is not an input of the graph');
    if (values.length !== elementCount(own.shape))
      throw new BackendError(
        'BAD_SHAPE',
        `[write] an input ${showShape(own.shape)} does not take ${values.length} values`,
      );
    if (
      values.BYTES_PER_ELEMENT !== dtypeBytes[own.dtype] ||
      values instanceof Float32Array !== (own.dtype === 'f32')
    )
      throw new BackendError(
        'BAD_DTYPE',
        `[write] an input of ${own.dtype} does not take ${values.constructor.name}`,
      );
    this.plan.writeInput(own.storage, new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
  }

  replay({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    return this.owner.queue.run(() => {
      this.needLive('replay');
      return this.plan.run(signal);
    });
  }

  replayChain({ count, stops = noStops, signal }: ChainOptions): Promise<Int32Array> {
    return this.owner.queue.run(() => {
      this.needLive('replayChain');
      this.needCount(count);
      return this.plan.runChain(count, stops, signal);
    });
  }

  read(tensor: Tensor): HostArray {
    this.needLive('read');
    const known = this.views.get(tensor);
    if (known?.length) return known; // the view of memory that has been transferred is empty
    const view = this.view(tensor);
    this.views.set(tensor, view);
    return view;
  }

  dispose(): void {
    if (this.ended) return;
    this.ended = true;
    for (const resource of this.step.held) resource.dependents.delete(this);
    this.owner.queue.between(() => {
      if (!this.owner.disposed) this.plan.dispose();
    });
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Where the tensor's values lie: the same memory after every replay. */
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

  private needCount(count: number): void {
    if (!this.chain)
      throw new BackendError('BAD_ARGUMENT', '[replayChain] the graph was captured without a chain');
    const { most } = this.chain;
    if (!(Number.isSafeInteger(count) && count >= 1 && count <= most))
      throw new BackendError('BAD_ARGUMENT', `[replayChain] count must be from 1 to ${most}; got ${count}`);
  }

  private needLive(op: string): void {
    if (this.disposed)
      throw new BackendError(
        'DISPOSED',
        `[${op}] the captured graph has been disposed, or a weight or buffer it holds has`,
      );
  }
}
