import type { DType } from '../dtype.js';
import type { Plan, PlanOperand, Storage, TensorOperand } from './plan.js';

/** Every tensor starts on a cache line. */
const alignment = 64;

export interface Place {
  readonly region: 'arena' | 'inputs' | 'outputs';
  readonly byteOffset: number;
  /** An f32 temporary stored as bf16. */
  readonly bf16: boolean;
}

export interface LayoutOptions {
  /** Minimum free bytes around each kept tensor, for tests of stray writes. Default 0. */
  readonly guard?: number;
  /** Temporaries stored as bf16. */
  readonly bf16?: ReadonlySet<Storage> | undefined;
  /** Default 'core': temporaries share an arena. 'driver': each temporary has its own offset. */
  readonly placing?: 'core' | 'driver' | undefined;
}

/** Place of each storage of a plan. */
export interface Layout {
  readonly places: ReadonlyMap<Storage, Place>;
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
}

/** Place and stored dtype of a tensor. */
export function placed(
  { storage, dtype, byteOffset }: TensorOperand,
  { places }: Layout,
): { readonly region: Place['region']; readonly byteOffset: number; readonly dtype: DType } {
  const { region, byteOffset: start, bf16 } = places.get(storage)!;
  return bf16
    ? { region, byteOffset: start + byteOffset / 2, dtype: 'bf16' }
    : { region, byteOffset: start + byteOffset, dtype };
}

const aligned = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/**
 * Rows up to which a `linear` keeps its operands until its result has been added by an `addRmsNorm` behind it: a driver that
 * streams weights may write the sum in the product's epilogue, while other outputs still read x.
 */
const epilogueRows = 8;

/** The last op that may read the operands of op `i`. */
function lastReader(ops: Plan['ops'], i: number): number {
  const [{ op, outputs }, next] = [ops[i]!, ops[i + 1]];
  if (op.name !== 'linear' || next?.op.name !== 'addRmsNorm') return i;
  const y = outputs[0]!;
  const adds = next.operands.some((one) => one?.kind === 'tensor' && one.storage === y.storage);
  return adds && y.shape[0]! <= epilogueRows ? i + 1 : i;
}

/** By op index: the storages that no later op uses. */
function endings({ ops, storages }: Plan): ReadonlyMap<number, readonly Storage[]> {
  const last = new Int32Array(storages.length).fill(-1);
  const touch = (operand: PlanOperand | undefined, i: number) => {
    if (operand?.kind === 'tensor') last[operand.storage.id] = Math.max(last[operand.storage.id]!, i);
  };
  for (let i = 0; i < ops.length; i++) {
    for (const operand of ops[i]!.operands) touch(operand, lastReader(ops, i));
    for (const output of ops[i]!.outputs) touch(output, i);
  }
  const ending = new Map<number, Storage[]>();
  for (const storage of storages) {
    const i = last[storage.id]!;
    const known = ending.get(i);
    if (known) known.push(storage);
    else ending.set(i, [storage]);
  }
  return ending;
}

interface Gap {
  start: number;
  end: number;
}

/** Allocates memory for temporaries. */
interface Placing {
  readonly byteLength: number;
  /** Offset of `bytes` free bytes. */
  take(bytes: number): number;
  give(start: number, bytes: number): void;
}

/** No sharing: the driver places temporaries by their lifetimes. */
class Unshared implements Placing {
  byteLength = 0;

  take(bytes: number): number {
    const start = this.byteLength;
    this.byteLength += bytes;
    return start;
  }

  give(): void {}
}

/** Free ranges of the arena, in order; the last range is endless. */
class SharedArena implements Placing {
  private readonly gaps: Gap[] = [{ start: 0, end: Number.POSITIVE_INFINITY }];
  byteLength = 0;

  /** Best fit: the smallest gap that holds `bytes`, so that large gaps stay whole. */
  take(bytes: number): number {
    let best = this.gaps.length - 1;
    for (let i = 0; i < this.gaps.length; i++)
      if (this.room(i) >= bytes && this.room(i) < this.room(best)) best = i;
    const gap = this.gaps[best]!;
    const { start } = gap;
    gap.start += bytes;
    if (gap.start === gap.end) this.gaps.splice(best, 1);
    this.byteLength = Math.max(this.byteLength, start + bytes);
    return start;
  }

  /** Frees a range and merges it with adjacent gaps. */
  give(start: number, bytes: number): void {
    if (bytes === 0) return;
    const end = start + bytes;
    const next = this.gaps.findIndex((gap) => gap.start >= end);
    const [before, after] = [this.gaps[next - 1], this.gaps[next]!];
    const joinsBefore = before?.end === start;
    const joinsAfter = after.start === end;
    if (joinsBefore && joinsAfter) {
      before.end = after.end;
      this.gaps.splice(next, 1);
    } else if (joinsBefore) before.end = end;
    else if (joinsAfter) after.start = start;
    else this.gaps.splice(next, 0, { start, end });
  }

  private room(i: number): number {
    return this.gaps[i]!.end - this.gaps[i]!.start;
  }
}

/**
 * Places inputs and kept tensors in regions of their own, and all temporaries in one arena. Temporaries with disjoint
 * lifetimes share memory.
 */
export function layOut(plan: Plan, { guard: guardBytes = 0, bf16, placing }: LayoutOptions = {}): Layout {
  const guard = aligned(guardBytes);
  const places = new Map<Storage, Place>();
  let inputsBytes = 0;
  let outputsBytes = guard;
  for (const storage of plan.storages) {
    if (storage.isInput) {
      places.set(storage, { region: 'inputs', byteOffset: inputsBytes, bf16: false });
      inputsBytes += aligned(storage.byteLength);
    } else if (storage.kept) {
      places.set(storage, { region: 'outputs', byteOffset: outputsBytes, bf16: false });
      outputsBytes += aligned(storage.byteLength) + guard;
    }
  }
  const arena = placing === 'driver' ? new Unshared() : new SharedArena();
  placeTemporaries(plan, arena, places, bf16);
  return { places, arenaBytes: arena.byteLength, inputsBytes, outputsBytes };
}

function placeTemporaries(
  plan: Plan,
  arena: Placing,
  places: Map<Storage, Place>,
  halved: LayoutOptions['bf16'],
): void {
  const bytesOf = ({ byteLength }: Storage, bf16: boolean) => aligned(bf16 ? byteLength / 2 : byteLength);
  const ending = endings(plan);
  plan.ops.forEach((op, i) => {
    for (const { storage } of op.outputs) {
      if (places.has(storage)) continue;
      const bf16 = halved?.has(storage) ?? false;
      places.set(storage, { region: 'arena', byteOffset: arena.take(bytesOf(storage, bf16)), bf16 });
    }
    for (const storage of ending.get(i) ?? []) {
      const { region, byteOffset, bf16 } = places.get(storage)!;
      if (region === 'arena') arena.give(byteOffset, bytesOf(storage, bf16));
    }
  });
}

/** Per temporary, in op order: byte offset, byte length, the op that makes it, the last op that reads it. */
export function lifetimes(ops: Plan['ops'], { places }: Layout): Float64Array {
  const rows: [offset: number, bytes: number, first: number, last: number][] = [];
  const rowOf = new Map<Storage, (typeof rows)[number]>();
  ops.forEach(({ operands, outputs }, i) => {
    for (const operand of operands) {
      const row = operand?.kind === 'tensor' && rowOf.get(operand.storage);
      if (row) row[3] = i;
    }
    for (const { storage } of outputs) {
      const { region, byteOffset, bf16 } = places.get(storage)!;
      if (region !== 'arena') continue;
      const row: (typeof rows)[number] = [byteOffset, storage.byteLength / (bf16 ? 2 : 1), i, i];
      rowOf.set(storage, row);
      rows.push(row);
    }
  });
  return Float64Array.from(rows.flat());
}
