import module from 'node:module';
import {
  BackendError,
  type BackendErrorCode,
  type DeviceCeilings,
  type DeviceDescription,
  type DeviceProfile,
  type DriverWeight,
  type FileSlice,
} from '@quern/core';
import { type AddonPlaces, chooseAddon } from './binary/choose-addon.js';
import { failureOf } from './binary/describe-binary.js';

/** Options for `make_device` of a device; undefined counts as absent. */
export type NativeOptions = Readonly<Record<string, number | string | boolean | undefined>>;

/** Makes the errors that the addon throws or rejects with. */
export type MakeError = (code: string, message: string) => Error;

/** A plan's memory as separate arguments: saves one object per step. */
type PlanArguments = [
  words: Int32Array,
  inputs: ArrayBuffer,
  outputs: ArrayBuffer,
  control: Int32Array,
  fault: Int32Array,
  times?: Float64Array | undefined,
];

/** Places of a chain (native/quern/chain.h), and memory for its results. */
type ChainArguments = [
  places?: Float64Array | undefined,
  results?: Int32Array | undefined,
  counts?: Int32Array | undefined,
];

/** Bytes of a weight: a slice of a file, or the id of bytes given to the addon. */
export type NativeBytes = FileSlice | number;

/** All of a weight; or `rows` rows: columns from `from` on, of stored rows of `of` elements. */
export type NativePart =
  | readonly [bytes: NativeBytes]
  | readonly [bytes: NativeBytes, rows: number, from: number, of: number];

/** The addon's one class (native/quern/addon/native-backend.h). Buffers, weights and captured plans have number ids. */
export interface NativeBackend {
  profile(): Promise<Omit<DeviceProfile, 'kind'>>;
  ceilings(): Promise<DeviceCeilings>;
  /**
   * Path of the file in which another process may keep measured rates now: those of the profile are estimates, the device
   * has run, has had no work for a second, and has memory free. Else ''.
   */
  unmeasuredRates(): string;
  /** Whether the device computes in host memory. */
  hasUnifiedMemory(): boolean;
  freeMemory(): number;
  allocate(byteLength: number): number;
  free(buffer: number): void;
  /** A promise if the device's memory is not host memory. */
  write(buffer: number, byteOffset: number, bytes: Uint8Array): Promise<void> | undefined;
  read(buffer: number, byteOffset: number, bytes: Uint8Array): Promise<void> | undefined;
  hostMemory(byteLength: number): ArrayBuffer;
  give(byteLength: number): number;
  giveBytes(given: number, byteOffset: number, bytes: Uint8Array): void;
  takeBack(given: number): void;
  loadWeight(
    name: string,
    shape: readonly number[],
    format: string,
    parts: readonly NativePart[],
  ): Promise<DriverWeight>;
  loadGptq(
    name: string,
    N: number,
    K: number,
    bits: number,
    groupSize: number,
    version: number,
    parts: readonly NativeBytes[],
  ): Promise<DriverWeight & { readonly format: string }>;
  freeWeight(weight: number): void;
  execute(...plan: PlanArguments): Promise<void>;
  capture(...plan: [...PlanArguments, ...ChainArguments]): Promise<number>;
  /** `dirty`: [from, to, …]; absent: all inputs. */
  replay(captured: number, dirty?: Float64Array): Promise<void>;
  /** `onReplays`: as for `CapturedPlan.replayChain` of core. */
  replayChain(
    captured: number,
    limits: Int32Array,
    stops: Int32Array,
    dirty?: Float64Array,
    onReplays?: (done: number) => void,
  ): Promise<number>;
  release(captured: number): void;
  kernelRuns(): Record<string, number>;
  dispose(): void;
}

/** Exports of an addon made with this package. */
export interface Addon {
  readonly NativeBackend: new (options: NativeOptions, makeError: MakeError) => NativeBackend;
  /** Of addons that are compiled with QUERN_LISTS_DEVICES. */
  readonly listDevices?: (options: NativeOptions, makeError: MakeError) => readonly DeviceDescription[];
}

export const makeError: MakeError = (code, message) => new BackendError(code as BackendErrorCode, message);

/**
 * The devices of an addon, without opening one; empty where there is none. Throws as `list_devices` of the driver
 * (native/quern/device.h), and UNSUPPORTED if the addon has no list.
 */
export function listDevices(addon: Addon, options: NativeOptions = {}): readonly DeviceDescription[] {
  if (!addon.listDevices) throw makeError('UNSUPPORTED', 'this addon has no list of its devices');
  return addon.listDevices(options, makeError);
}

/** The file of a loaded addon; undefined where Node does not tell, as in some bundles. */
export function addonFile(addon: Addon): string | undefined {
  const loaded = Object.values(module.createRequire(process.execPath).cache);
  return loaded.find((each) => each?.exports === addon)?.filename;
}

/** Loads a native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export function loadAddon<A = Addon>(places: AddonPlaces<A>): A {
  const { loaded, tried } = chooseAddon(places);
  if (loaded) return loaded.addon;
  const { reason, advice } = failureOf(places, tried);
  throw new BackendError(
    'UNSUPPORTED',
    [
      advice ? `${reason}. ${advice}` : reason,
      `Tried on Node ${process.version}:`,
      ...tried.map(({ name, message }) => `  ${name}: ${message}`),
      ...(places.build && !advice?.includes(places.build) ? [places.build] : []),
      ...(places.help ?? []),
    ].join('\n'),
  );
}
