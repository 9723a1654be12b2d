import { BackendError, dtypeBytes, elementCount, regions } from '@quern/core';
import type { Operand, OpRecord } from './read-plan.js';

/** A temporary, from the op that makes it to the last that reads it. */
interface Temporary {
  /** In the plan. */
  readonly offset: number;
  readonly bytes: number;
  readonly first: number;
  readonly last: number;
  /** On the device. */
  readonly place: number;
}

const alignUp = (bytes: number): number => Math.ceil(bytes / 64) * 64;

/** The lowest place with room for `bytes` between temporaries that are in order of their places. */
function lowestRoom(living: readonly Temporary[], bytes: number): number {
  let place = 0;
  for (const other of living) {
    if (place + bytes <= other.place) break;
    place = alignUp(other.place + other.bytes);
  }
  return place;
}

/** `lifetimes`: offset, bytes, first and last op of each temporary, in the order of the first. */
function placeAll(lifetimes: Float64Array): readonly Temporary[] {
  const placed: Temporary[] = [];
  let living: Temporary[] = [];
  for (let i = 0; i < lifetimes.length; i += 4) {
    const [offset = 0, bytes = 0, first = 0, last = 0] = lifetimes.subarray(i, i + 4);
    living = living.filter((other) => other.last >= first);
    const own = { offset, bytes, first, last, place: lowestRoom(living, bytes) };
    placed.push(own);
    living = [...living, own].sort((a, b) => a.place - b.place);
  }
  return placed;
}

/** The arena of a plan whose temporaries the device places by their lifetimes. */
export class Placement {
  readonly byteLength: number;
  private readonly temporaries: readonly Temporary[];

  constructor(lifetimes: Float64Array) {
    this.temporaries = placeAll(lifetimes);
    this.byteLength = this.temporaries.reduce((end, { place, bytes }) => Math.max(end, place + bytes), 0);
  }

  /** Op number `index` on the places of the device. Throws BAD_ARGUMENT where it touches a temporary that is not alive. */
  onDevice(record: OpRecord, index: number): OpRecord {
    const moved = <Place extends Operand>(operand: Place): Place =>
      operand.region === regions.arena ? { ...operand, byteOffset: this.placeOf(operand, index) } : operand;
    return {
      ...record,
      operands: Object.fromEntries(
        Object.entries(record.operands).map(([name, operand]) => [name, moved(operand)]),
      ),
      outputs: record.outputs.map(moved),
    };
  }

  /** Byte ranges of the temporaries that op number `index` reads last. */
  endingAt(index: number): readonly (readonly [from: number, to: number])[] {
    return this.temporaries.flatMap(({ last, place, bytes }) =>
      last === index ? [[place, place + bytes] as const] : [],
    );
  }

  private placeOf({ byteOffset, dtype, shape }: Operand, index: number): number {
    const bytes = elementCount(shape) * dtypeBytes[dtype!];
    if (bytes === 0) return 0;
    const own = this.temporaries.find(
      ({ offset, bytes: all, first, last }) =>
        offset <= byteOffset && byteOffset + bytes <= offset + all && first <= index && index <= last,
    );
    if (own) return own.place + byteOffset - own.offset;
    throw new BackendError(
      'BAD_ARGUMENT',
      `the plan is malformed: bytes ${byteOffset} to ${byteOffset + bytes} of the arena are no temporary of op ${index}`,
    );
  }
}
