import type { Plan, PlanOperand, Storage } from './plan.js';

/** Every tensor starts on a cache line. */
const alignment = 64;

export interface Place {
  readonly region: 'arena' | 'inputs' | 'outputs';
  readonly byteOffset: number;
}

/** Where each storage of a plan lies. */
export interface Layout {
  readonly places: ReadonlyMap<Storage, Place>;
  readonly arenaBytes: number;
  readonly inputsBytes: number;
  readonly outputsBytes: number;
}

const aligned = (bytes: number) => Math.ceil(bytes / alignment) * alignment;

/** The storages that no op touches after each op, by the op's index. */
function endings({ ops, storages }: Plan): ReadonlyMap<number, readonly Storage[]> {
  const last = new Int32Array(storages.length).fill(-1);
  const touch = (operand: PlanOperand | undefined, i: number) => {
    if (operand?.kind === 'tensor') last[operand.storage.id] = i;
  };
  for (let i = 0; i < ops.length; i++) {
    for (const operand of ops[i]!.operands) touch(operand, i);
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

/** Free ranges of the arena, in order; the last one is endless. */
class Arena {
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

  /** Frees a range, and joins it with the gaps it touches. */
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
 * Places inputs and kept tensors in regions of their own and all others in one arena, in which tensors that do not
 * live at the same time share memory. At least `guardBytes` are left free around each kept tensor, for tests that look for stray writes.
 */
export function layOut(plan: Plan, guardBytes = 0): Layout {
  const guard = aligned(guardBytes);
  const places = new Map<Storage, Place>();
  let inputsBytes = 0;
  let outputsBytes = guard;
  for (const storage of plan.storages) {
    if (storage.isInput) {
      places.set(storage, { region: 'inputs', byteOffset: inputsBytes });
      inputsBytes += aligned(storage.byteLength);
    } else if (storage.kept) {
      places.set(storage, { region: 'outputs', byteOffset: outputsBytes });
      outputsBytes += aligned(storage.byteLength) + guard;
    }
  }
  const arena = new Arena();
  const ending = endings(plan);
  plan.ops.forEach((op, i) => {
    for (const { storage } of op.outputs)
      if (!places.has(storage))
        places.set(storage, { region: 'arena', byteOffset: arena.take(aligned(storage.byteLength)) });
    for (const storage of ending.get(i) ?? []) {
      const place = places.get(storage)!;
      if (place.region === 'arena') arena.give(place.byteOffset, aligned(storage.byteLength));
    }
  });
  return { places, arenaBytes: arena.byteLength, inputsBytes, outputsBytes };
}
