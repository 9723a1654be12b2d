import type { Backend, Driver, WeightFormat } from '@quern/core';

/** Float definition of one block format: the values for `quantGguf` kernels. @quern/quant has all of them. */
export interface Codec {
  readonly format: WeightFormat;
  /** Elements per block. */
  readonly blockSize: number;
  readonly blockBytes: number;
  /** The first `count` elements of `bytes`, in whole blocks. */
  decode(bytes: Uint8Array, count: number): Float32Array;
}

/** A part of the kit. */
export interface Selection {
  readonly suites?: readonly string[];
  /** Cases with matching names. */
  readonly cases?: RegExp;
  /**
   * Of the cases selected by `suites` and `cases`, those for which it returns true. `place` counts them from 0 on: lets
   * several processes share a run, or a run go on behind a crash.
   */
  readonly takes?: (place: number, one: Pick<Result, 'suite' | 'name'>) => boolean;
}

/** The function by which Quern loads a backend, with the options of the application. */
export type CreateBackend = (options: Readonly<Record<string, unknown>>) => Backend | Promise<Backend>;

export interface ConformanceOptions {
  /** Makes a new driver at each call; the kit disposes it. */
  readonly createDriver: () => Driver | Promise<Driver>;
  /** As your package exports it. Required for the suite `options`. */
  readonly createBackend?: CreateBackend | undefined;
  /** Makes the drivers of a group of `worldSize` devices, in rank order. Required for `collective`. */
  readonly createGroup?: ((worldSize: number) => readonly Driver[] | Promise<readonly Driver[]>) | undefined;
  /** Required for every format in the driver's `quantGguf`. */
  readonly codecs?: readonly Codec[] | undefined;
  /** Runs a part of the kit. */
  readonly only?: Selection | undefined;
  /** Seed of the generated shapes and plans: a whole number, default 0. */
  readonly seed?: number | undefined;
  /** A number of bytes that the device can certainly not allocate; default 2^50. */
  readonly memoryLimitProbe?: number | undefined;
  /** Called before each case. */
  readonly onCase?: ((one: Pick<Result, 'suite' | 'name'>) => void) | undefined;
  /** Called after each case. */
  readonly onResult?: ((result: Result) => void) | undefined;
}

export interface Result {
  readonly suite: string;
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'not supported';
  /** Reason of the failure, or why the case does not apply. */
  readonly message?: string;
}
