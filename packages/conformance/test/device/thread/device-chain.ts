import { BackendError, type PlanWords } from '@quern/core';
import type { ChainPlaces, Ran, Told } from '../protocol.js';
import type { DevicePlan } from './device-plan.js';

/** Replays of a plan that follow one another on the device. */
export class DeviceChain {
  private readonly found: Int32Array; // [S]
  private readonly feed: Int32Array; // [S]
  private readonly growing: readonly Int32Array[]; // [S] each

  constructor(
    private readonly plan: DevicePlan,
    private readonly places: ChainPlaces,
  ) {
    this.found = words(plan.outputs, places.output);
    this.feed = this.input(places.feed);
    this.growing = places.advance.map((place) => this.input(place));
  }

  run(
    limits: Int32Array,
    stops: Int32Array,
    control: Int32Array,
    state: Int32Array,
    tell: ((told: Told) => void) | undefined,
  ): Ran {
    const tokens: number[] = [];
    const counts = new Int32Array(this.found.length);
    const going = Array.from(this.found, () => true);
    for (let replay = 1, begin: number | undefined; ; replay++) {
      const ran = this.plan.run(control, state);
      begin ??= ran.span[0];
      tokens.push(...this.found);
      for (const [row, goes] of going.entries()) {
        if (!goes) continue;
        counts[row] = replay;
        const ends = replay >= limits[row]! || replay >= this.places.most;
        going[row] = !ends && !stops.includes(this.found[row]!);
      }
      if (ran.fault || !going.includes(true))
        return { ...ran, tokens: Int32Array.from(tokens), counts, span: [begin, ran.span[1]] };
      tell?.({ done: replay, tokens: this.found.slice(), counts: counts.slice() });
      for (const [row, goes] of going.entries()) if (goes) this.advance(row);
    }
  }

  private advance(row: number): void {
    this.feed[row] = this.found[row]!;
    for (const one of this.growing) one[row]!++;
    const { slots } = this.places;
    if (!slots) return;
    const table = this.input(slots.blockTable);
    const blocks = table.length / this.found.length;
    const position = this.input(slots.positions)[row]!;
    const block = Math.floor(position / slots.blockSize);
    if (!(block >= 0 && block < blocks))
      throw new BackendError('OUT_OF_RANGE', `row ${row} of the chain has no slot for position ${position}`);
    this.input(slots.slots)[row] =
      table[row * blocks + block]! * slots.blockSize + (position % slots.blockSize);
  }

  private input(place: PlanWords): Int32Array {
    return words(this.plan.inputs, place);
  }
}

const words = ({ buffer }: Uint8Array, { byteOffset, count }: PlanWords): Int32Array =>
  new Int32Array(buffer, byteOffset, count);
