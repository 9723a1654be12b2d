import type { Driver, WeightFormat } from '@quern/core';

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

export interface Result {
  readonly suite: string;
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'not supported';
  /** Why it failed, or why it does not apply. */
  readonly message?: string;
}
