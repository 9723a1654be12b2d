import type { Driver, WeightFormat } from '@quern/core';
import { ConformanceError } from './error.js';
import { suites } from './suites/index.js';

/** The float definition of one block format: what `quantGguf` kernels must compute with. @quern/quant has them all. */
export interface Codec {
  readonly format: WeightFormat;
  /** Elements per block. */
  readonly blockSize: number;
  readonly blockBytes: number;
  /** The first `count` elements of `bytes`, a whole number of blocks. */
  decode(bytes: Uint8Array, count: number): Float32Array;
}

export interface ConformanceOptions {
  /** Makes a fresh driver each time; the kit disposes of it. */
  readonly createDriver: () => Driver | Promise<Driver>;
  /** Makes the drivers of a group of `worldSize` devices, in order of rank: needed for `collective`. */
  readonly createGroup?: ((worldSize: number) => readonly Driver[] | Promise<readonly Driver[]>) | undefined;
  /** Needed for every format that the driver's `quantGguf` declares. */
  readonly codecs?: readonly Codec[] | undefined;
  /** Runs a part of the kit: these suites, and of them the cases whose name matches. */
  readonly only?: { readonly suites?: readonly string[]; readonly cases?: RegExp } | undefined;
  /** Chooses the generated shapes and plans: a whole number, 0 where absent. */
  readonly seed?: number | undefined;
  /** Bytes that the device can certainly not allocate; 2^50 where absent. */
  readonly memoryLimitProbe?: number | undefined;
  /** Called after each case. */
  readonly onResult?: ((result: Result) => void) | undefined;
}

const known = {
  createDriver: true,
  createGroup: true,
  codecs: true,
  only: true,
  seed: true,
  memoryLimitProbe: true,
  onResult: true,
} as const satisfies Record<keyof ConformanceOptions, true>;

function needNames(names: readonly string[], known: object, what: string): void {
  for (const name of names)
    if (!(name in known))
      throw new ConformanceError(
        'BAD_OPTION',
        `there is no ${what} '${name}'; there are ${Object.keys(known).join(', ')}`,
      );
}

/** Throws BAD_OPTION for a name that the kit does not know. */
export function needOptions(options: ConformanceOptions): void {
  if (typeof options?.createDriver !== 'function')
    throw new ConformanceError('BAD_OPTION', 'createDriver must be a function that makes a driver');
  needNames(Object.keys(options), known, 'option');
  const { seed = 0 } = options;
  if (!(Number.isInteger(seed) && seed >= 0))
    throw new ConformanceError('BAD_OPTION', `seed must be a whole number of 0 or more; got ${seed}`);
  needNames(Object.keys(options.only ?? {}), { suites: true, cases: true }, 'part of `only` called');
  needNames(options.only?.suites ?? [], suites, 'suite');
}

export interface Result {
  readonly suite: string;
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'not supported';
  /** Why it failed, or why it does not apply. */
  readonly message?: string;
}
