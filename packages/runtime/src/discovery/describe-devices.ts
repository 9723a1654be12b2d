import { capabilityNames, type DeviceCeilings, type DeviceProfile, type Filled } from '@quern/core';
import { messageOf } from '../error.js';
import { candidatesFor, type FindBackendsOptions } from './find-backends.js';
import type { BackendCandidate } from './load-backend.js';

/**
 * One line of `quern devices`: a working backend with its device, or a package with the reason why it does not work.
 */
export type DeviceReport =
  | {
      readonly package: string;
      readonly backend: string;
      readonly profile: DeviceProfile;
      /** Measured now, or kept by the backend; absent where it cannot measure. */
      readonly ceilings?: DeviceCeilings;
      /** Bytes free now. */
      readonly freeMemory: number;
      readonly capabilities: readonly string[];
      /** Ops missing in the driver, and how core computes them. */
      readonly filled: Filled;
    }
  | { readonly package: string; readonly error: string };

async function describe(candidate: BackendCandidate): Promise<DeviceReport> {
  if (!candidate.backend) return { package: candidate.package, error: candidate.error };
  using backend = candidate.backend;
  try {
    const ceilings = await backend.measureCeilings?.();
    return {
      package: candidate.package,
      backend: candidate.name,
      profile: backend.profile,
      ...(ceilings && { ceilings }),
      freeMemory: backend.freeMemory(),
      filled: backend.filled,
      capabilities: capabilityNames.filter((capability) => backend[capability] !== undefined),
    };
  } catch (cause) {
    return { package: candidate.package, error: messageOf(cause) };
  }
}

/**
 * The installed backends on this machine, best first, with measurements of about one second each, where the backend has none from
 * earlier. All backends are disposed afterwards.
 */
export async function describeDevices(options: FindBackendsOptions = {}): Promise<DeviceReport[]> {
  const reports: DeviceReport[] = [];
  for (const candidate of await candidatesFor('describeDevices', options))
    reports.push(await describe(candidate)); // one at a time
  return reports;
}
