import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Backend } from '@quern/core';

type Collect = () => void;

let known: Collect | undefined;

/** The garbage collector. Node needs no command-line flag for it; Bun needs --expose-gc. */
function collector(): Collect {
  known ??= globalThis.gc as Collect | undefined;
  if (known) return known;
  setFlagsFromString('--expose-gc');
  known = runInNewContext('gc') as Collect;
  return known;
}

const turn = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

/** Collects garbage. Array memory is freed a turn later; threads end at any time. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 2; i++) {
    collector()();
    await turn();
  }
}

/** Bytes in use, seen from outside the driver: JavaScript arrays, the process, a device with its own memory. */
export interface Footprint {
  readonly arrays: number;
  readonly process: number;
  readonly device: number;
}

export function footprint({ profile, freeMemory }: Backend): Footprint {
  const { arrayBuffers, rss } = process.memoryUsage();
  const device = profile.kind === 'gpu' ? profile.totalMemory - freeMemory() : 0;
  return { arrays: arrayBuffers, process: rss, device };
}

/** Growth of the number that grew most. */
export const grownBy = (after: Footprint, before: Footprint): number =>
  Math.max(after.arrays - before.arrays, after.process - before.process, after.device - before.device);

const steady = 2 ** 20;

/** The footprint once it no longer falls: memory may be freed in the background. */
export async function settledFootprint(backend: Backend): Promise<Footprint> {
  let last = footprint(backend);
  for (let look = 0; look < 10; look++) {
    await settle();
    const now = footprint(backend);
    if (Math.abs(grownBy(now, last)) < steady && Math.abs(grownBy(last, now)) < steady) return now;
    last = now;
  }
  return last;
}
