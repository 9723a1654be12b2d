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
  replayChain(captured: number, limits: Int32Array, stops: Int32Array, dirty?: Float64Array): Promise<number>;
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

/** A package, and how to load it; absent: `require` of its name. */
export interface AddonCandidate {
  readonly name: string;
  readonly load?: (() => Addon) | undefined;
}

/** Where to look for a driver's binary. */
export interface AddonPlaces {
  /** The driver's package, for error messages. */
  readonly packageName: string;
  /** Path of the driver's module: the start of package resolution. */
  readonly from: string;
  /** Paths and packages, best first. A function: computed only if the earlier candidates fail. */
  readonly candidates: readonly (string | (() => string | AddonCandidate))[];
  /** Advice for the error message, one line each. */
  readonly help: readonly string[];
}

/** musl: the process report names no glibc. */
function isMusl(): boolean {
  const report = process.report;
  const { excludeNetwork } = report as { excludeNetwork?: boolean };
  Object.assign(report, { excludeNetwork: true }); // otherwise the report may wait for reverse DNS
  const { header } = report.getReport() as { header: { glibcVersionRuntime?: string } };
  Object.assign(report, { excludeNetwork });
  return header.glibcVersionRuntime === undefined;
}

/** Platform as in names of prebuilt packages: 'linux-x64-gnu'. A call takes milliseconds. */
export function platform(): string {
  const base = `${process.platform}-${process.arch}`;
  return process.platform === 'linux' ? `${base}-${isMusl() ? 'musl' : 'gnu'}` : base;
}

/** Of an error of `require`, without Node's advice about the "main" of a package.json: a path to a binary has none. */
const firstLine = (error: unknown): string =>
  String((error as Error).message)
    .split('\n')[0]!
    .replace(/\. Please verify that the package\.json has .*$/, '');

/** Loads a native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export function loadAddon({ packageName, from, candidates, help }: AddonPlaces): Addon {
  const require = module.createRequire(from);
  const tried: string[] = [];
  for (const each of candidates) {
    const candidate = typeof each === 'string' ? each : each();
    const { name, load } = typeof candidate === 'string' ? { name: candidate, load: undefined } : candidate;
    try {
      return load ? load() : require(name);
    } catch (error) {
      tried.push(`  ${name}: ${firstLine(error)}`);
    }
  }
  throw new BackendError(
    'UNSUPPORTED',
    [
      `${packageName} has no binary for ${platform()} on Node ${process.version}`,
      'Tried:',
      ...tried,
      ...help,
    ].join('\n'),
  );
}
