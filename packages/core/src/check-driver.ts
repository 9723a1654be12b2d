import { needDriverContract } from './contract.js';
import type { DeviceLinks, DeviceProfile } from './device-profile.js';
import type { Driver, DriverCapabilities } from './driver.js';
import { BackendError } from './error.js';
import { needManifest } from './manifest.js';
import { needSpeltMembers } from './misspelt-members.js';
import { adviceFor } from './options/nearest-name.js';
import { precisions } from './precision.js';

/** Rule for one property: the test, and its words for messages. */
interface Rule {
  readonly holds: (value: unknown) => boolean;
  readonly must: string;
}

type Rules = Readonly<Record<string, Rule>>;

const isText = (value: unknown): boolean => typeof value === 'string' && value.trim() !== '';
const isWhole = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0;
const isRate = (value: unknown): boolean => Number.isFinite(value) && (value as number) > 0;
const isListOf = (value: unknown, holds: (item: unknown) => boolean): boolean =>
  Array.isArray(value) && value.length > 0 && value.every(holds);
const isRank = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return false;
  const { worldSize, rank } = value as Readonly<Record<string, unknown>>;
  return isWhole(worldSize) && (rank === 0 || isWhole(rank)) && Number(rank) < Number(worldSize);
};
const oneOf =
  (...choices: readonly unknown[]) =>
  (value: unknown): boolean =>
    choices.includes(value);

const text: Rule = { holds: isText, must: 'be a string that is not empty' };
const whole: Rule = { holds: isWhole, must: 'be a whole number above 0' };
const rate: Rule = { holds: isRate, must: 'be a finite number above 0' };
const rateOrAbsent: Rule = {
  holds: (value) => value === undefined || isRate(value),
  must: 'be a finite number above 0, or absent',
};
const flag: Rule = { holds: oneOf(true, false), must: 'be true or false' };

/** Rule for a capability with limits: an object with the list `name`; `holds` tests each item. */
const listed = (name: string, holds: (item: unknown) => boolean, items: string): Rule => ({
  holds: (value) =>
    typeof value === 'object' &&
    value !== null &&
    isListOf((value as Readonly<Record<string, unknown>>)[name], holds),
  must: `be {${name}: […]}, a list of ${items}`,
});

function areLinks(value: unknown): boolean {
  const { hostToDevice, deviceToHost } = (value ?? {}) as Partial<DeviceLinks>;
  return isRate(hostToDevice) && isRate(deviceToHost);
}

const profileRules = {
  kind: { holds: oneOf('cpu', 'gpu', 'interpreter'), must: "be 'cpu', 'gpu' or 'interpreter'" },
  name: text,
  isa: text,
  threads: whole,
  totalMemory: rate,
  readBandwidth: rate,
  flops: rate,
  rowFlops: rateOrAbsent,
  promptFlops: rateOrAbsent,
  driver: { holds: (value) => value === undefined || isText(value), must: 'be text, or absent' },
  precision: {
    holds: oneOf(undefined, ...precisions),
    must: `be ${precisions.map((name) => `'${name}'`).join(', ')}, or absent`,
  },
  exactRows: {
    holds: (value) => value === undefined || value === Number.POSITIVE_INFINITY || isWhole(value),
    must: 'be a whole number above 0, Infinity, or absent',
  },
  plansInFlight: {
    holds: (value) => value === undefined || isWhole(value),
    must: 'be a whole number above 0, or absent',
  },
  abort: {
    holds: oneOf(undefined, 'op', 'segment', 'step'),
    must: "be 'op', 'segment', 'step', or absent",
  },
  placing: { holds: oneOf(undefined, 'core', 'driver'), must: "be 'core', 'driver' or absent" },
  sharesHostMemory: { holds: oneOf(undefined, true, false), must: 'be true, false, or absent' },
  estimated: { holds: oneOf(undefined, true, false), must: 'be true, false, or absent' },
  links: {
    holds: (value) => value === undefined || areLinks(value),
    must: 'be {hostToDevice, deviceToHost}, bytes per second above 0, or absent',
  },
} as const satisfies Record<keyof DeviceProfile, Rule>;

const capabilityRules = {
  pagedKv: listed('blockSizes', isWhole, 'whole numbers above 0'),
  quantGguf: listed('formats', isText, 'names of formats'),
  quantGptq: listed('bits', oneOf(4, 8), '4 and 8'),
  collective: { holds: isRank, must: 'be {worldSize, rank}: whole numbers, rank from 0 and below worldSize' },
  kvQuant: listed('dtypes', oneOf('bf16', 'int8', 'fp8'), "'bf16', 'int8' and 'fp8'"),
  moeFused: flag,
  graph: flag,
  timer: flag,
} as const satisfies Record<keyof DriverCapabilities, Rule>;

const capabilities = Object.keys(capabilityRules);

/** A value as messages show it. Strings are quoted, NaN is visible. */
const show = (value: unknown): string =>
  typeof value === 'string' ? `'${value}'` : typeof value === 'object' ? JSON.stringify(value) : `${value}`;

const bad = (name: unknown, message: string) =>
  new BackendError('BAD_DRIVER', `driver ${show(name)}: ${message}`);

function needRules(driver: Driver, where: string, value: object, rules: Rules): void {
  for (const [name, { holds, must }] of Object.entries(rules)) {
    const own = (value as Readonly<Record<string, unknown>>)[name];
    if (!holds(own)) throw bad(driver.name, `${where}.${name} must ${must}; got ${show(own)}`);
  }
}

function needName({ name }: Driver): void {
  if (typeof name === 'string' && /^\S+$/.test(name)) return;
  throw bad(name, 'name must be a string without spaces, and not empty: it is what --backend takes');
}

function needProfile(driver: Driver): void {
  if (!driver.profile) throw bad(driver.name, 'it has no profile');
  needRules(driver, 'profile', driver.profile, profileRules);
  if ('kernels' in driver && (driver.profile.plansInFlight ?? 1) > 1)
    throw bad(driver.name, 'profile.plansInFlight must be 1: kernels run one by one');
  if (driver.profile.placing === 'driver' && 'kernels' in driver)
    throw bad(driver.name, "profile.placing is 'driver', but a table of kernels never sees a plan to place");
}

/** Every declared capability has a known name and valid limits. */
function needCapabilities(driver: Driver): void {
  const declared: DriverCapabilities = driver.capabilities ?? {};
  const present: Record<string, Rule> = {};
  for (const [name, value] of Object.entries(declared)) {
    const rule = Object.hasOwn(capabilityRules, name) && (capabilityRules as Rules)[name];
    if (!rule)
      throw bad(driver.name, `it declares an unknown capability '${name}': ${adviceFor(name, capabilities)}`);
    if (value !== undefined) present[name] = rule;
  }
  needRules(driver, 'capabilities', declared, present);
}

/** Functions that every driver must have, by path. */
const methods = [
  ['freeMemory'],
  ['memory', 'allocate'],
  ['memory', 'free'],
  ['memory', 'write'],
  ['memory', 'read'],
  ['loadWeight'],
  ['freeWeight'],
  ['dispose'],
] as const;

const kvMethods = ['allocate', 'read', 'write'].map((name) => ['kv', name]);

function needMethods(driver: Driver): void {
  const paths: readonly (readonly string[])[] = [
    ...methods,
    ...('executor' in driver ? [['executor', 'execute']] : []),
    ...(driver.kv ? kvMethods : []),
  ];
  for (const path of paths) {
    let found: unknown = driver;
    for (const name of path) found = (found as Readonly<Record<string, unknown>> | undefined)?.[name];
    if (typeof found !== 'function') throw bad(driver.name, `it has no function ${path.join('.')}`);
  }
}

/** Throws BAD_DRIVER for an impossible property or a missing function of a driver. */
export function needDriver(driver: Driver): void {
  if (typeof driver !== 'object' || driver === null)
    throw new BackendError('BAD_DRIVER', `a driver must be an object; got ${show(driver)}`);
  needName(driver);
  needDriverContract(driver);
  needProfile(driver);
  needMethods(driver);
  needCapabilities(driver);
  if (!driver.manifest?.ops) throw bad(driver.name, 'it has no manifest with ops');
  needSpeltMembers(driver);
  needManifest(driver);
}
