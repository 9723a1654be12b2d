import type { Plan, PlanOp, PlanOperand, Storage, TensorOperand } from './plan.js';

/** A value that a part of a plan takes or gives: its storage in the whole plan and in the part. */
export interface Crossing {
  readonly whole: Storage;
  readonly own: Storage;
}

/** Ops that the device computes in one piece, as a plan of their own. */
export interface DevicePart {
  readonly kind: 'device';
  readonly plan: Plan;
  /** Inputs of the part. */
  readonly takes: readonly Crossing[];
  /** Kept tensors of the part. */
  readonly gives: readonly Crossing[];
}

/** One op that the host computes. */
export interface HostPart {
  readonly kind: 'host';
  readonly op: PlanOp;
}

export type PlanPart = DevicePart | HostPart;

const tensorsOf = (operands: readonly (PlanOperand | undefined)[]): TensorOperand[] =>
  operands.filter((operand) => operand?.kind === 'tensor');

/** Ops of one stage: those of the host, then those of the device. */
interface Stage {
  readonly host: PlanOp[];
  readonly device: PlanOp[];
}

/**
 * The least number of stages: each op as early as its operands are there. Ops that share a cache stay in their order. A table that
 * is made of inputs so comes before the first op of the device, a token that is drawn after the last.
 */
function stagesOf(plan: Plan, isHost: (op: PlanOp) => boolean): Stage[] {
  const hostReady = new Int32Array(plan.storages.length); // the first stage in which the host has the storage
  const deviceReady = new Int32Array(plan.storages.length);
  const cacheStage = new Map<number, number>();
  const stages: Stage[] = [];
  for (const op of plan.ops) {
    const host = isHost(op);
    const ready = host ? hostReady : deviceReady;
    const caches = op.operands.flatMap((operand) => (operand?.kind === 'buffer' ? [operand.handle.id] : []));
    const at = Math.max(
      0,
      ...tensorsOf(op.operands).map(({ storage }) => ready[storage.id]!),
      ...caches.map((id) => cacheStage.get(id) ?? 0),
    );
    while (stages.length <= at) stages.push({ host: [], device: [] });
    stages[at]![host ? 'host' : 'device'].push(op);
    for (const id of caches) cacheStage.set(id, at);
    for (const { storage } of op.outputs) {
      hostReady[storage.id] = host ? at : at + 1;
      deviceReady[storage.id] = at;
    }
  }
  return stages;
}

/** By storage, the ops that make it and the ops that read it. */
function readersOf(plan: Plan): ReadonlyMap<Storage, readonly PlanOp[]> {
  const readers = new Map<Storage, PlanOp[]>();
  for (const op of plan.ops)
    for (const { storage } of tensorsOf(op.operands)) {
      const known = readers.get(storage);
      if (known) known.push(op);
      else readers.set(storage, [op]);
    }
  return readers;
}

/** Ops as a plan of their own, on storages of its own. */
class PartPlan {
  private readonly own = new Map<Storage, Storage>();
  private readonly ops: PlanOp[] = [];
  private readonly made = new Set<Storage>();

  add({ op, operands, attributes, outputs }: PlanOp): void {
    const moved = operands.map((operand) => (operand?.kind === 'tensor' ? this.moved(operand) : operand));
    for (const { storage } of outputs) this.made.add(storage);
    this.ops.push({ op, operands: moved, attributes, outputs: outputs.map((output) => this.moved(output)) });
  }

  /** `leaves`: a storage is needed outside the part. */
  finish(leaves: (storage: Storage) => boolean): DevicePart {
    const crossings = [...this.own].map(([whole, own]) => ({ whole, own }));
    for (const { whole, own } of crossings) own.kept = this.made.has(whole) && leaves(whole);
    return {
      kind: 'device',
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

function devicePart(ops: readonly PlanOp[], readers: ReadonlyMap<Storage, readonly PlanOp[]>): DevicePart {
  const inside = new Set(ops);
  const part = new PartPlan();
  for (const op of ops) part.add(op);
  return part.finish((storage) => storage.kept || (readers.get(storage) ?? []).some((op) => !inside.has(op)));
}

/** The parts of a plan in the order in which they run. */
export function cutPlan(plan: Plan, isHost: (op: PlanOp) => boolean): readonly PlanPart[] {
  const readers = readersOf(plan);
  return stagesOf(plan, isHost).flatMap(({ host, device }) => [
    ...host.map((op): HostPart => ({ kind: 'host', op })),
    ...(device.length > 0 ? [devicePart(device, readers)] : []),
  ]);
}
