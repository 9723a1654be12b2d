import type { DeviceProfile } from './device-profile.js';
import type { Driver, DriverBase, Manifest, PlanExecutor } from './driver.js';
import { BackendError } from './error.js';
import { adviceFor, nearestName } from './options/nearest-name.js';

type OptionalOf<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];
type Types<T> = Readonly<Record<OptionalOf<T>, 'function' | 'object' | 'number' | 'string' | 'boolean'>>;

const ofDriver: Types<DriverBase> = {
  contract: 'number',
  measureCeilings: 'function',
  capabilities: 'object',
  kv: 'object',
  loadGptq: 'function',
  kernelRuns: 'function',
};

const ofExecutor: Types<PlanExecutor> = {
  hostMemory: 'function',
  freeHostMemory: 'function',
  capture: 'function',
};

const ofManifest: Types<Manifest> = { fused: 'object', collective: 'object' };

const ofProfile: Types<DeviceProfile> = {
  rowFlops: 'number',
  promptFlops: 'number',
  driver: 'string',
  precision: 'string',
  exactRows: 'number',
  plansInFlight: 'number',
  abort: 'string',
  placing: 'string',
  sharesHostMemory: 'boolean',
  estimated: 'boolean',
  links: 'object',
};

/** Names of an object's members, with those of its class. */
function namesOf(value: object): readonly string[] {
  const names: string[] = [];
  for (let each = value; each && each !== Object.prototype; each = Object.getPrototypeOf(each))
    names.push(...Object.getOwnPropertyNames(each));
  return names;
}

/** Every private name of two letters is near 'kv'. */
const isLikeKv = (name: string): boolean => /^_?kv_?$/i.test(name);

/**
 * Throws BAD_DRIVER for a member with nearly the name, and the type, of an optional one that is absent: core would ignore it. Other
 * unknown members are the driver's own.
 */
function needSpelling(
  driver: string,
  where: string,
  value: object,
  optional: Readonly<Record<string, string>>,
) {
  const members = value as Readonly<Record<string, unknown>>;
  const absent = Object.keys(optional).filter((name) => members[name] === undefined);
  for (const name of namesOf(value)) {
    if (name in optional) continue;
    const meant = nearestName(name, absent);
    if (meant === undefined || (meant === 'kv' && !isLikeKv(name))) continue;
    if (typeof members[name] !== optional[meant]) continue;
    throw new BackendError(
      'BAD_DRIVER',
      `driver '${driver}': ${where} has '${name}', which core ignores: ${adviceFor(name, absent)}`,
    );
  }
}

/** Throws BAD_DRIVER for a misspelt optional member of a driver, its executor, its manifest or its profile. */
export function needSpeltMembers(driver: Driver): void {
  const { name, manifest, profile } = driver;
  needSpelling(name, 'it', driver, ofDriver);
  needSpelling(name, 'profile', profile, ofProfile);
  needSpelling(name, 'manifest', manifest, ofManifest);
  if ('executor' in driver) needSpelling(name, 'executor', driver.executor, ofExecutor);
}
