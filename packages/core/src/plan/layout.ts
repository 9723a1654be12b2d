import type { Plan, PlanOp, Storage } from './plan.js';

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

/** First and last op that touches each storage. */
function lifetimes(ops: readonly PlanOp[]): Map<Storage, { first: number; last: number }> {
  const lives = new Map<Storage, { first: number; last: number }>();
  ops.forEach((op, i) => {
    for (const operand of [...op.operands, ...op.outputs]) {
      if (operand?.kind !== 'tensor') continue;
      const life = lives.get(operand.storage);
      if (life) life.last = i;
      else lives.set(operand.storage, { first: i, last: i });
    }
  });
  return lives;
}

interface Gap {
  start: number;
  end: number;
}

/** Free ranges of the arena, in order; the last one is endless. */
class Arena {
  private gaps: Gap[] = [{ start: 0, end: Number.POSITIVE_INFINITY }];
  byteLength = 0;

  /** Best fit: the smallest gap that holds `bytes`, so that large gaps stay whole. */
  take(bytes: number): number {
    let best: Gap | undefined;
    for (const gap of this.gaps)
      if (gap.end - gap.start >= bytes && (!best || gap.end - gap.start < best.end - best.start)) best = gap;
    const start = best!.start;
    best!.start += bytes;
    this.gaps = this.gaps.filter((gap) => gap.end > gap.start);
    this.byteLength = Math.max(this.byteLength, start + bytes);
    return start;
  }

  give(start: number, bytes: number): void {
    this.gaps.push({ start, end: start + bytes });
    this.gaps.sort((a, b) => a.start - b.start);
    this.gaps = this.gaps.reduce<Gap[]>((merged, gap) => {
      const last = merged[merged.length - 1];
      if (last && last.end === gap.start) last.end = gap.end;
      else merged.push({ ...gap });
      return merged;
    }, []);
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
  const lives = lifetimes(plan.ops);
  const ending = new Map<number, Storage[]>();
  for (const [storage, { last }] of lives)
    if (!places.has(storage)) ending.set(last, [...(ending.get(last) ?? []), storage]);
  plan.ops.forEach((op, i) => {
    for (const { storage } of op.outputs)
      if (!places.has(storage))
        places.set(storage, { region: 'arena', byteOffset: arena.take(aligned(storage.byteLength)) });
    for (const storage of ending.get(i) ?? [])
      arena.give(places.get(storage)!.byteOffset, aligned(storage.byteLength));
  });
  return { places, arenaBytes: arena.byteLength, inputsBytes, outputsBytes };
}
