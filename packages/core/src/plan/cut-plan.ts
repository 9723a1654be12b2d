import type { Plan, PlanOp, PlanOperand, Storage, TensorOperand } from './plan.js';

/** A value that enters or leaves a part of a plan: its storage in the whole plan and in the part. */
export interface Crossing {
  readonly whole: Storage;
  readonly own: Storage;
}

/** Consecutive ops for the device, as a plan of their own. */
export interface DevicePart {
  readonly kind: 'device';
  readonly plan: Plan;
  /** Indices of the ops in the whole plan. */
  readonly indices: readonly number[];
  /** Inputs of the part. */
  readonly takes: readonly Crossing[];
  /** Kept tensors of the part. */
  readonly gives: readonly Crossing[];
}

/** One op for the host. */
export interface HostPart {
  readonly kind: 'host';
  readonly op: PlanOp;
  readonly index: number;
}

export type PlanPart = DevicePart | HostPart;

const tensorsOf = (operands: readonly (PlanOperand | undefined)[]): TensorOperand[] =>
  operands.filter((operand) => operand?.kind === 'tensor');

/** Op indices of one stage: host ops first, then device ops. */
interface Stage {
  readonly host: number[];
  readonly device: number[];
}

/**
 * Minimum number of stages: each op as early as its operands are ready. Ops that share a cache keep their order. So a
 * table made from inputs comes before the first device op, and a drawn token after the last.
 */
function stagesOf(plan: Plan, isHost: (op: PlanOp) => boolean): Stage[] {
  const hostReady = new Int32Array(plan.storages.length); // first stage with the storage on the host
  const deviceReady = new Int32Array(plan.storages.length);
  const cacheStage = new Map<number, number>();
  const stages: Stage[] = [];
  for (const [i, op] of plan.ops.entries()) {
    const host = isHost(op);
    const ready = host ? hostReady : deviceReady;
    const caches = op.operands.flatMap((operand) => (operand?.kind === 'buffer' ? [operand.handle.id] : []));
    const at = Math.max(
      0,
      ...tensorsOf(op.operands).map(({ storage }) => ready[storage.id]!),
      ...caches.map((id) => cacheStage.get(id) ?? 0),
    );
    while (stages.length <= at) stages.push({ host: [], device: [] });
    stages[at]![host ? 'host' : 'device'].push(i);
    for (const id of caches) cacheStage.set(id, at);
    for (const { storage } of op.outputs) {
      hostReady[storage.id] = host ? at : at + 1;
      deviceReady[storage.id] = at;
    }
  }
  return stages;
}

type Readers = ReadonlyMap<Storage, readonly number[]>;

/** Indices of the ops that read each storage. */
function readersOf(plan: Plan): Readers {
  const readers = new Map<Storage, number[]>();
  for (const [i, op] of plan.ops.entries())
    for (const { storage } of tensorsOf(op.operands)) {
      const known = readers.get(storage);
      if (known) known.push(i);
      else readers.set(storage, [i]);
    }
  return readers;
}

/** Ops as a plan of their own, with their own storages. */
class PartPlan {
  private readonly own = new Map<Storage, Storage>();
  private readonly ops: PlanOp[] = [];
  private readonly made = new Set<Storage>();

  add({ op, operands, attributes, outputs }: PlanOp): void {
    const moved = operands.map((operand) => (operand?.kind === 'tensor' ? this.moved(operand) : operand));
    for (const { storage } of outputs) this.made.add(storage);
    this.ops.push({ op, operands: moved, attributes, outputs: outputs.map((output) => this.moved(output)) });
  }

  /** `leaves`: whether a storage is needed outside the part. */
  finish(indices: readonly number[], leaves: (storage: Storage) => boolean): DevicePart {
    const crossings = [...this.own].map(([whole, own]) => ({ whole, own }));
    for (const { whole, own } of crossings) own.kept = this.made.has(whole) && leaves(whole);
    return {
      kind: 'device',
      indices,
      plan: { ops: this.ops, storages: [...this.own.values()] },
      takes: crossings.filter(({ own }) => own.isInput),
      gives: crossings.filter(({ own }) => own.kept),
    };
  }

  private moved(tensor: TensorOperand): TensorOperand {
    const { shape, dtype, byteOffset } = tensor;
    return { kind: 'tensor', shape, dtype, byteOffset, storage: this.ownStorage(tensor.storage) };
  }

  private ownStorage(whole: Storage): Storage {
    const known = this.own.get(whole);
    if (known) return known;
    const { byteLength } = whole;
    const storage = { id: this.own.size, byteLength, isInput: !this.made.has(whole), kept: false };
    this.own.set(whole, storage);
    return storage;
  }
}

function devicePart(plan: Plan, indices: readonly number[], readers: Readers): DevicePart {
  const inside = new Set(indices);
  const part = new PartPlan();
  for (const i of indices) part.add(plan.ops[i]!);
  const leaves = (storage: Storage) =>
    storage.kept || (readers.get(storage) ?? []).some((reader) => !inside.has(reader));
  return part.finish(indices, leaves);
}

/** The parts of a plan in run order. */
export function cutPlan(plan: Plan, isHost: (op: PlanOp) => boolean): readonly PlanPart[] {
  const readers = readersOf(plan);
  return stagesOf(plan, isHost).flatMap(({ host, device }) => [
    ...host.map((index): HostPart => ({ kind: 'host', op: plan.ops[index]!, index })),
    ...(device.length > 0 ? [devicePart(plan, device, readers)] : []),
  ]);
}
