import {
  type Backend,
  capabilityNames,
  checkOptions,
  type DeviceCeilings,
  type DeviceProfile,
  type Filled,
  rules,
  type Schema,
} from '@quern/core';
import { badOption, messageOf } from '../error.js';
import { candidatesFor, type FindAllOptions, findAllSchema } from './find-backends.js';
import type { BackendCandidate } from './load-backend.js';

export interface DescribeDevicesOptions extends FindAllOptions {
  /**
   * Measures each device again, and not only devices without rates from earlier. A backend on a GPU keeps them for later
   * processes. Default false.
   */
  readonly measure?: boolean | undefined;
}

export const describeDevicesSchema = {
  ...findAllSchema,
  measure: { ...rules.flag, about: 'measure each device again', byDefault: false },
} as const satisfies Schema<DescribeDevicesOptions>;

/**
 * One line of `quern devices`: a working backend with its device, or a package with the reason why it does not work.
 */
export type DeviceReport =
  | {
      readonly package: string;
      readonly backend: string;
      readonly profile: DeviceProfile;
      /** Measured now, or kept by the backend; absent where it cannot measure, or where the profile has estimates. */
      readonly ceilings?: DeviceCeilings;
      /** Why `measure` did not succeed. */
      readonly unmeasured?: string;
      /** Bytes free now. */
      readonly freeMemory: number;
      readonly capabilities: readonly string[];
      /** Ops missing in the driver, and how core computes them. */
      readonly filled: Filled;
    }
  | { readonly package: string; readonly error: string };

/** What was measured of a device, or why nothing was. */
type Measured = Pick<Extract<DeviceReport, { readonly backend: string }>, 'ceilings' | 'unmeasured'>;

const keyOf = ({ package: owner, backend }: BackendCandidate) => `${owner} ${backend?.name}`;

/** By `keyOf`. All backends are disposed: new ones have profiles with these rates. */
async function measureAll(options: FindAllOptions): Promise<Map<string, Measured>> {
  const all = new Map<string, Measured>();
  for (const candidate of await candidatesFor('describeDevices', options)) {
    if (!candidate.backend) continue;
    using backend = candidate.backend;
    all.set(keyOf(candidate), await measure(backend));
  }
  return all;
}

async function measure(backend: Backend): Promise<Measured> {
  try {
    const ceilings = await backend.measureCeilings?.({ again: true });
    return ceilings ? { ceilings } : {};
  } catch (cause) {
    return { unmeasured: messageOf(cause) };
  }
}

async function describe(candidate: BackendCandidate, measured?: Measured): Promise<DeviceReport> {
  if (!candidate.backend) return { package: candidate.package, error: candidate.error };
  using backend = candidate.backend;
  try {
    const ceilings =
      measured?.ceilings ?? (backend.profile.estimated ? undefined : await backend.measureCeilings?.());
    return {
      package: candidate.package,
      backend: candidate.name,
      profile: backend.profile,
      ...(ceilings && { ceilings }),
      ...(measured?.unmeasured !== undefined && { unmeasured: measured.unmeasured }),
      freeMemory: backend.freeMemory(),
      filled: backend.filled,
      capabilities: capabilityNames.filter((capability) => backend[capability] !== undefined),
    };
  } catch (cause) {
    return { package: candidate.package, error: messageOf(cause) };
  }
}

/**
 * The installed backends on this machine, best first, with measurements of about one second each, where the backend has neither
 * rates from earlier nor estimates. All backends are disposed afterwards.
 */
export async function describeDevices(options: DescribeDevicesOptions = {}): Promise<DeviceReport[]> {
  checkOptions('describeDevices', options, describeDevicesSchema, badOption);
  const { measure = false, ...found } = options;
  const measured = measure ? await measureAll(found) : undefined;
  const reports: DeviceReport[] = [];
  for (const candidate of await candidatesFor('describeDevices', found)) // one at a time
    reports.push(await describe(candidate, measured?.get(keyOf(candidate))));
  return reports;
}
