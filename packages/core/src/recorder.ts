import { type Cooperative, runInTurns } from './cooperative.js';
import {
  byteLength,
  type DType,
  dtypeBytes,
  elementCount,
  type HostArray,
  hostArray,
  showShape,
  type TensorSpec,
} from './dtype.js';
import { BackendError } from './error.js';
import type { KvBuffer } from './kv/kv-buffer.js';
import { plannedAttributes } from './op/attributes.js';
import type { AnyOp, OperandRule, OperandSpec } from './op/define-op.js';
import { maxDimension, maxRank } from './plan/encode.js';
import type { Plan, PlanOp, PlanOperand, Storage } from './plan/plan.js';
import type { PlanUse, PreparedPlan } from './plan/prepare.js';
import { LoadedWeight, OwnedKvBuffer, type Resource, type ResourceOwner } from './resources.js';
import type { InputArray, Step, StepMemory } from './step.js';
import { type OperandValue, type RecordingStep, StepTensor } from './step-tensor.js';
import type { Tensor } from './tensor.js';
import type { Weight } from './weight.js';

/** The parts of a backend that a recorder uses. */
export interface RecorderHost extends ResourceOwner {
  /** Throws UNSUPPORTED unless the driver has this op for these operands. */
  needSupport(op: AnyOp, operands: readonly (PlanOperand | undefined)[]): void;
  prepare(plan: Plan, use: PlanUse): Cooperative<PreparedPlan>;
  /** Memory of the plan. */
  measure(plan: Plan): StepMemory;
  /** Takes a place in the queue now, runs the plan once it is prepared, then frees its device memory. */
  runOnce(preparing: Promise<PreparedPlan>, signal: AbortSignal | undefined): Promise<void>;
}

/** The Step behind all op calls. */
export class Recorder implements Step, RecordingStep {
  private readonly ops: PlanOp[] = [];
  private readonly storages: Storage[] = [];
  private readonly inputs = new Map<Storage, Uint8Array>();
  private readonly memo = new Map<string, StepTensor>();
  private readonly resources = new Set<Resource>();
  private state: 'recording' | 'finished' | 'disposed' = 'recording';
  private prepared: PreparedPlan | undefined;
  private running: Promise<void> | undefined;

  constructor(private readonly host: RecorderHost) {}

  get backend(): string {
    return this.host.name;
  }

  belongsTo(host: RecorderHost): boolean {
    return this.host === host;
  }

  input(values: InputArray, shape: readonly number[] = [values.length], dtype = dtypeOf(values)): StepTensor {
    this.needRecording('input');
    if (elementCount(shape) !== values.length)
      throw new BackendError(
        'BAD_SHAPE',
        `[input] shape ${showShape(shape)} does not hold ${values.length} values`,
      );
    if (dtypeBytes[dtype] !== values.BYTES_PER_ELEMENT)
      throw new BackendError('BAD_DTYPE', `[input] ${values.constructor.name} does not hold ${dtype}`);
    const tensor = this.tensor({ shape, dtype }, true);
    this.inputs.set(
      tensor.storage,
      new Uint8Array(values.buffer, values.byteOffset, values.byteLength).slice(),
    );
    return tensor;
  }

  /** Records one op. Operands and attributes by name, in any order. A missing attribute is 0, an f32 is rounded to 32 bits. */
  record(
    op: AnyOp,
    values: Readonly<Record<string, OperandValue>>,
    attributes: Readonly<Record<string, number>> = {},
  ): StepTensor[] {
    this.needRecording(op.name);
    const operands = Object.entries(op.operands).map(([name, rule]) =>
      this.operand(op.name, name, rule, values[name]),
    );
    const specs: Record<string, OperandSpec> = {};
    Object.keys(op.operands).forEach((name, i) => {
      const operand = operands[i];
      if (operand)
        specs[name] = {
          shape: operand.shape,
          dtype: operand.kind === 'weight' ? operand.format : operand.dtype,
        };
    });
    const planned = plannedAttributes(op, attributes);
    const outputs = op.infer(specs, planned).map((spec) => this.tensor(spec, false));
    this.host.needSupport(op, operands);
    this.ops.push({ op, operands, attributes: Object.values(planned), outputs });
    return outputs;
  }

  /** The tensor that `make` records, once per key and step. */
  once(key: string, make: () => StepTensor): StepTensor {
    const known = this.memo.get(key);
    if (known) return known;
    const tensor = make();
    this.memo.set(key, tensor);
    return tensor;
  }

  /** The same storage with another shape, from an element offset. */
  alias(tensor: StepTensor, shape: readonly number[], elementOffset: number): StepTensor {
    this.needRecording('view');
    needEncodable(shape);
    return new StepTensor(
      this,
      shape,
      tensor.dtype,
      tensor.storage,
      tensor.byteOffset + elementOffset * dtypeBytes[tensor.dtype],
    );
  }

  keep(tensor: Tensor): void {
    this.needRecording('keep');
    this.own('keep', 'tensor', tensor).storage.kept = true;
  }

  memory(): StepMemory {
    this.needRecording('memory');
    const leaves = this.leaves();
    for (const leaf of leaves) leaf.kept = true;
    try {
      return this.host.measure({ ops: this.ops, storages: this.storages });
    } finally {
      for (const leaf of leaves) leaf.kept = false;
    }
  }

  run({ signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    if (this.running) return Promise.reject(finished('run'));
    try {
      this.running = this.host.runOnce(runInTurns(this.finish()), signal);
    } catch (error) {
      return Promise.reject(error);
    }
    return this.running;
  }

  async read(tensor: Tensor): Promise<HostArray> {
    const own = this.own('read', 'tensor', tensor);
    if (this.state === 'recording') {
      own.storage.kept = true;
      await this.run();
    } else await this.running;
    return this.values(own);
  }

  /** Prepares plan and inputs for the device. The step takes no more ops. */
  finish(use: PlanUse = { timed: false, captured: false }): Cooperative<PreparedPlan> {
    this.needRecording('run');
    this.needHeld('run');
    this.state = 'finished';
    for (const leaf of this.leaves()) leaf.kept = true;
    return this.prepare(use);
  }

  /** Weights and buffers that the plan holds. */
  get held(): ReadonlySet<Resource> {
    return this.resources;
  }

  /** Throws DISPOSED if the backend, a weight or a buffer of the plan has been disposed. */
  needHeld(op: string): void {
    this.needBackend(op);
    for (const resource of this.resources) resource.needLive(op);
  }

  dispose(): void {
    this.state = 'disposed';
    this.prepared = undefined;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Checks that a tensor is this step's. */
  own(op: string, name: string, value: Tensor): StepTensor {
    if (!(value instanceof StepTensor))
      throw new BackendError('BAD_ARGUMENT', `[${op}] ${name} is not a tensor`);
    if (value.step !== this) throw new BackendError('WRONG_STEP', `[${op}] ${name} belongs to another step`);
    return value;
  }

  private *prepare(use: PlanUse): Cooperative<PreparedPlan> {
    const prepared = yield* this.host.prepare({ ops: this.ops, storages: this.storages }, use);
    for (const [storage, bytes] of this.inputs) prepared.writeInput(storage, bytes);
    if (!use.captured && this.state !== 'disposed') this.prepared = prepared;
    return prepared;
  }

  private values(tensor: StepTensor): HostArray {
    if (!this.prepared) throw new BackendError('DISPOSED', '[read] the step has been disposed');
    const bytes = this.inputs.get(tensor.storage) ?? this.prepared.kept(tensor.storage);
    if (!bytes)
      throw new BackendError(
        'NOT_KEPT',
        '[read] the tensor was not kept: call step.keep(tensor) before the step runs',
      );
    return hostArray(
      tensor.dtype,
      bytes.buffer,
      bytes.byteOffset + tensor.byteOffset,
      elementCount(tensor.shape),
    );
  }

  private tensor(spec: TensorSpec, isInput: boolean): StepTensor {
    needEncodable(spec.shape);
    const storage: Storage = { id: this.storages.length, byteLength: byteLength(spec), isInput, kept: false };
    this.storages.push(storage);
    return new StepTensor(this, spec.shape, spec.dtype, storage, 0);
  }

  private operand(op: string, name: string, rule: OperandRule, value: OperandValue): PlanOperand | undefined {
    if (value === undefined) {
      if (rule.optional) return undefined;
      throw new BackendError('BAD_ARGUMENT', `[${op}] ${name} is missing`);
    }
    if (value.kind !== rule.kind)
      throw new BackendError('BAD_ARGUMENT', `[${op}] ${name} must be a ${rule.kind}; got a ${value.kind}`);
    const operand = value.kind === 'tensor' ? this.own(op, name, value) : this.hold(op, name, value);
    if (rule.dtypes && operand.kind !== 'weight' && !rule.dtypes.includes(operand.dtype))
      throw new BackendError(
        'BAD_DTYPE',
        `[${op}] ${name} must be ${rule.dtypes.join(' or ')}; got ${operand.dtype}`,
      );
    return operand;
  }

  private hold(op: string, name: string, value: Weight | KvBuffer): LoadedWeight | OwnedKvBuffer {
    if (!(value instanceof LoadedWeight || value instanceof OwnedKvBuffer))
      throw new BackendError(
        'BAD_ARGUMENT',
        `[${op}] ${name} was not made by a backend's ${value.kind === 'weight' ? 'loadWeight' : 'kvBuffer'}`,
      );
    if (value.owner !== this.host)
      throw new BackendError('WRONG_STEP', `[${op}] ${name} belongs to another backend`);
    value.needLive(op);
    this.resources.add(value);
    return value;
  }

  /** Tensors that no op uses: the results of the step. Excludes tensors that are kept anyway. */
  private leaves(): Storage[] {
    const used = new Set<Storage>();
    for (const { operands } of this.ops)
      for (const operand of operands) if (operand?.kind === 'tensor') used.add(operand.storage);
    return this.storages.filter((storage) => !storage.isInput && !storage.kept && !used.has(storage));
  }

  private needBackend(op: string): void {
    if (this.host.disposed)
      throw new BackendError('DISPOSED', `[${op}] backend '${this.host.name}' has been disposed`);
  }

  private needRecording(op: string): void {
    this.needBackend(op);
    if (this.state === 'disposed') throw new BackendError('DISPOSED', `[${op}] the step has been disposed`);
    if (this.state === 'finished') throw finished(op);
  }
}

/** Limits of encoded plans: rank ≤ maxRank, each dimension in 31 bits. */
function needEncodable(shape: readonly number[]): void {
  if (shape.length > maxRank || shape.some((d) => d > maxDimension))
    throw new BackendError(
      'BAD_SHAPE',
      `tensors have at most ${maxRank} dimensions of at most ${maxDimension}; got ${showShape(shape)}`,
    );
}

const finished = (op: string) =>
  new BackendError(
    'STEP_FINISHED',
    `[${op}] the step has already run; open another, or capture it to run it again`,
  );

function dtypeOf(values: InputArray): DType {
  if (values instanceof Int32Array) return 'i32';
  if (values instanceof Float32Array) return 'f32';
  throw new BackendError('BAD_DTYPE', '[input] say which dtype the 16-bit values have: f16 or bf16');
}
