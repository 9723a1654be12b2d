import { capabilityNames, type DeviceProfile } from '@quern/core';
import { type FindBackendsOptions, findBackends } from './find-backends.js';

/** One line of `quern devices`: a backend that loads and its device, or a package and why it does not load. */
export type DeviceReport =
  | {
      readonly package: string;
      readonly backend: string;
      readonly profile: DeviceProfile;
      /** Bytes free now. */
      readonly freeMemory: number;
      readonly capabilities: readonly string[];
    }
  | { readonly package: string; readonly error: string };

/** What the installed backends found on this machine, best first. All of them are disposed again. */
export async function describeDevices(options: FindBackendsOptions = {}): Promise<DeviceReport[]> {
  const candidates = await findBackends(options);
  return candidates.map((candidate) => {
    if (!candidate.backend) return { package: candidate.package, error: candidate.error };
    const { backend, name } = candidate;
    const report = {
      package: candidate.package,
      backend: name,
      profile: backend.profile,
      freeMemory: backend.freeMemory(),
      capabilities: capabilityNames.filter((capability) => backend[capability] !== undefined),
    };
    backend.dispose();
    return report;
  });
}
