import { existsSync, type Stats, statSync } from 'node:fs';
import { basename, dirname, isAbsolute, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import {
  type Backend,
  BackendError,
  type DeviceDescription,
  needContract,
  type Precision,
  showValue,
  systemReason,
} from '@quern/core';
import { codeOf, messageOf, RuntimeError } from '../error.js';
import { readManifest } from './application.js';
import { importModule } from './import-module.js';

/** Options of a package's `createBackend`: these, and the caller's `backendOptions`. */
export interface CreateBackendOptions {
  /** Threads to compute with. Absent: the backend chooses. */
  readonly threads?: number;
  /** Instruction set, for backends that support several. Absent: the backend chooses. */
  readonly isa?: string;
  /** How products and attention may round. Absent: the backend chooses. */
  readonly precision?: Precision;
  /** Index of the device, for packages with a device list. Of a package without one: its own option. */
  readonly device?: unknown;
  /** Further options of the backend. */
  readonly [option: string]: unknown;
}

/** A package that declares a backend, and the result of loading it. */
export type BackendCandidate =
  | { readonly package: string; readonly name: string; readonly backend: Backend; readonly error?: never }
  | FailedBackend;

/** A package without a backend to compute with. `error`: message of `cause`; `code`: its code, if any. */
export interface FailedBackend {
  readonly package: string;
  readonly error: string;
  readonly code?: string;
  /** The thrown error. */
  readonly cause: unknown;
  /** The package's module cannot be imported, or is no backend. */
  readonly unloaded?: true;
  /** The machine has no device for the package: 'auto' skips it silently. */
  readonly noDevice?: true;
  readonly backend?: never;
}

/** A loaded candidate. */
export type LoadedBackend = Extract<BackendCandidate, { readonly backend: Backend }>;

interface BackendModule {
  readonly createBackend?: (options: CreateBackendOptions) => Promise<Backend>;
  /** The devices of this machine. Exported by packages that support more than one device. */
  readonly devices?: () => Promise<readonly DeviceDescription[]>;
}

/** A package that declares a backend in its package.json. */
export interface FoundBackend {
  readonly name: string;
  readonly folder: string;
  /** Relative to the folder. */
  readonly module: string;
  /** false: 'auto' does not load it. */
  readonly auto?: boolean | undefined;
}

/** Found through a package.json, or registered by an import of the application. */
export type KnownBackend = FoundBackend | (Module & Pick<FoundBackend, 'name' | 'auto'>);

/** The chosen devices of a package: one by its index, the first, or all. */
export type DeviceChoice = number | 'first' | 'all';

/** Loads the backends of a package, one per chosen device. Errors become failed candidates. */
export async function loadBackends(
  found: KnownBackend,
  options: CreateBackendOptions,
  choice: DeviceChoice,
): Promise<BackendCandidate[]> {
  let module: Module;
  try {
    module = 'createBackend' in found ? found : await moduleOf(found);
  } catch (cause) {
    return [{ ...failed(found.name, cause), unloaded: true as const }];
  }
  try {
    return await loadChosen(found.name, module, options, choice);
  } catch (cause) {
    return [failed(found.name, cause)];
  }
}

async function loadChosen(
  name: string,
  module: Module,
  options: CreateBackendOptions,
  choice: DeviceChoice,
): Promise<BackendCandidate[]> {
  const devices = await module.devices?.();
  if (!devices) return [await loadOnly(name, module, options, choice)];
  const wanted = withOption(choice, options.device);
  if (devices.length === 0) return [withoutDevice(await loadOne(name, module, options))];
  const candidates: BackendCandidate[] = [];
  for (const device of chosenDevices(devices, wanted))
    candidates.push(await loadDevice(name, module, options, device)); // one at a time
  return candidates;
}

/**
 * The device that the backend's name and the option `device` choose together.
 * @throws RuntimeError BAD_OPTION if the option is no index, or not the name's
 */
function withOption(choice: DeviceChoice, device: unknown): DeviceChoice {
  if (device === undefined) return choice;
  const named = typeof choice === 'number' ? `the backend's name chooses device ${choice}, ` : '';
  const shown = `${named}backendOptions.device is ${showValue(device)}`;
  if (!Number.isSafeInteger(device) || (device as number) < 0)
    throw new RuntimeError('BAD_OPTION', `${shown}: it must be a whole number, 0 or more`);
  if (typeof choice === 'number' && choice !== device)
    throw new RuntimeError('BAD_OPTION', `${shown}: give one of them, or the same in both`);
  return device as number;
}

async function moduleOf({ folder, module: file }: FoundBackend): Promise<Module> {
  const loaded = (await importModule(folder, file)) as BackendModule & { readonly default?: BackendModule };
  const module = loaded.createBackend ? loaded : (loaded.default ?? loaded); // default export of a CommonJS module
  const { createBackend, devices } = module;
  if (typeof createBackend !== 'function')
    throw new RuntimeError('BACKEND_FAILED', `${file} does not export createBackend`);
  return { createBackend, ...(devices && { devices }) };
}

type Module = Required<Pick<BackendModule, 'createBackend'>> & BackendModule;

/** The backend of a package without a device list: its only device has index 0. */
async function loadOnly(
  name: string,
  module: Module,
  options: CreateBackendOptions,
  choice: DeviceChoice,
): Promise<BackendCandidate> {
  if (choice === 'all' || choice === 'first' || choice === 0) return loadOne(name, module, options);
  throw noSuchDevice(choice, ': the package has one backend');
}

async function loadOne(
  name: string,
  { createBackend }: Module,
  options: CreateBackendOptions,
  index?: number,
): Promise<BackendCandidate> {
  try {
    return fitting(name, await createBackend(options), index);
  } catch (cause) {
    return failed(name, outdated(name, cause));
  }
}

/** The error of a driver for another contract, which does not know its package: with the name of the package to update. */
function outdated(name: string, cause: unknown): unknown {
  if (!(cause instanceof BackendError && cause.code === 'WRONG_CONTRACT')) return cause;
  const message = cause.message.replace(/update its package$/, `update ${name}`);
  return new BackendError('WRONG_CONTRACT', message, { cause });
}

/** A package without a device on this machine: the error of `createBackend` says why. */
const withoutDevice = (candidate: BackendCandidate): BackendCandidate =>
  candidate.backend ? candidate : { ...candidate, noDevice: true as const };

async function loadDevice(
  name: string,
  module: Module,
  options: CreateBackendOptions,
  { index, unusable }: DeviceDescription,
): Promise<BackendCandidate> {
  if (unusable !== undefined) return failed(name, new BackendError('UNSUPPORTED', unusable));
  return loadOne(name, module, { ...options, device: index }, index);
}

/** 'first': the first usable one. @throws BackendError UNSUPPORTED */
function chosenDevices(
  devices: readonly DeviceDescription[],
  choice: DeviceChoice,
): readonly DeviceDescription[] {
  if (choice === 'all') return devices;
  const usable = devices.filter(({ unusable }) => unusable === undefined);
  if (choice === 'first') return (usable.length > 0 ? usable : devices).slice(0, 1);
  const chosen = devices.filter(({ index }) => index === choice);
  if (chosen.length > 0) return chosen;
  const known = devices.map(({ index, name }) => `${index} (${name})`).join(', ');
  throw noSuchDevice(choice, `; there ${devices.length === 1 ? 'is only' : 'are'} ${known}`);
}

/** The words are those of backend-cuda's driver. */
const noSuchDevice = (index: number, rest: string) =>
  new BackendError('UNSUPPORTED', `there is no device ${index}${rest}`);

function failed(name: string, cause: unknown): FailedBackend {
  const code = codeOf(cause);
  return { package: name, error: messageOf(cause), cause, ...(code !== undefined && { code }) };
}

/** A package with several devices has backend names that end in the device's index: 'cuda:1'. */
const deviceSuffix = /:(\d+)$/;

/** Splits a backend's name: 'cuda:1' is device 1 of 'cuda'. */
export function splitDevice(name: string): { readonly base: string; readonly choice: DeviceChoice } {
  const index = deviceSuffix.exec(name)?.[1];
  return { base: name.replace(deviceSuffix, ''), choice: index === undefined ? 'first' : Number(index) };
}

/**
 * Checks a backend. Throws WRONG_CONTRACT for an incompatible version, BACKEND_FAILED for a name without the device's
 * index.
 */
function fitting(name: string, backend: Backend, device: number | undefined): LoadedBackend {
  try {
    needContract(backend, name);
    if (device !== undefined && splitDevice(backend.name).choice !== device)
      throw new RuntimeError(
        'BACKEND_FAILED',
        `the backend of device ${device} must have a name that ends with ':${device}'; it is '${backend.name}'`,
      );
  } catch (error) {
    backend.dispose();
    throw error;
  }
  return { package: name, name: backend.name, backend };
}

/** Whether the name is a path: './folder', '/a/module.js', 'file:///…'. */
export const isBackendPath = (name: string): boolean =>
  /^\.{1,2}([\\/]|$)|^file:/.test(name) || isAbsolute(name);

/**
 * The package in a folder, or a module as a package of its own, and the chosen device: './folder:1' is device 1.
 * Relative to the working directory.
 * @throws RuntimeError BACKEND_NOT_FOUND
 */
export function packageAt(path: string): { readonly found: FoundBackend; readonly choice: DeviceChoice } {
  const { base, choice } = existsSync(placeOf(path))
    ? { base: path, choice: 'first' as const }
    : splitDevice(path);
  return { found: packageIn(placeOf(base)), choice };
}

const placeOf = (path: string): string => (path.startsWith('file:') ? fileURLToPath(path) : resolve(path));

/** @throws the error that `missing` makes, where the system has no status: a file in the place of a folder, a folder without permission */
function statusOf(place: string, missing: (what: string, cause?: unknown) => RuntimeError): Stats {
  try {
    return statSync(place);
  } catch (cause) {
    throw missing(
      codeOf(cause) === 'ENOENT' ? 'there is no such file or folder' : systemReason(cause),
      cause,
    );
  }
}

function packageIn(place: string): FoundBackend {
  const missing = (what: string, cause?: unknown) =>
    new RuntimeError('BACKEND_NOT_FOUND', `there is no backend at ${place}: ${what}`, { cause });
  const status = statusOf(place, missing);
  if (!status.isDirectory()) return { name: place, folder: dirname(place), module: basename(place) };
  const { name = place, quern } = readManifest(place) ?? {};
  if (typeof quern?.backend === 'string') return { name, folder: place, module: quern.backend };
  throw missing('its package.json must say where, as in "quern": {"backend": "./dist/index.js"}');
}
