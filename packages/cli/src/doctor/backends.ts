import { type BinaryReport, binariesOf, binaryHelp, noBinaryHelp, real } from './binaries.js';
import type { Finding, Findings } from './finding.js';
import { type FailedProbe, type ProbedBackend, type ProbeReport, probeBackends } from './probe-backends.js';
import type { SystemReport } from './system.js';

/** A package that declares a backend, the binaries that it has, and how its backends load. */
export interface BackendReport {
  readonly package: string;
  readonly folder: string;
  /** In the order of the loader; none: the backend needs none, or has none. */
  readonly binaries: readonly BinaryReport[];
  /** One for each device. */
  readonly devices: readonly ProbedBackend[];
}

export interface PackageOfBackend {
  readonly name: string;
  readonly folder: string;
}

export async function backendReports(
  packages: readonly PackageOfBackend[],
  system: SystemReport,
  env: NodeJS.ProcessEnv,
): Promise<{ readonly reports: readonly BackendReport[]; readonly probe: ProbeReport }> {
  const probe = await probeBackends(packages.map(({ name }) => name));
  const loaded = probe.addons.map(real);
  const reports = packages.map(
    ({ name, folder }): BackendReport => ({
      package: name,
      folder,
      binaries: binariesOf({ name, folder }, system, loaded, env),
      devices: probe.backends.filter((each) => each.package === name),
    }),
  );
  return { reports, probe };
}

const isFailed = (device: ProbedBackend): device is FailedProbe => 'error' in device;

export function backendFindings(
  reports: readonly BackendReport[],
  { error }: ProbeReport,
  env: NodeJS.ProcessEnv,
): Findings {
  const searched =
    error === undefined ? [] : [{ what: `the search for backends failed: ${error}`, help: 'quern devices' }];
  const none =
    reports.length === 0 ? [{ what: 'no backend is installed', help: 'npm install @quern/backend-cpu' }] : [];
  const faults = [...searched, ...none];
  const notes: Finding[] = [];
  for (const report of reports)
    for (const device of report.devices.filter(isFailed))
      (device.noDevice ? notes : faults).push(failure(report, device, env));
  return { faults, notes };
}

/** Why a backend does not load, and what helps: the first fault that explains it. */
function failure(
  report: BackendReport,
  { error, code, noDevice, unloaded }: FailedProbe,
  env: NodeJS.ProcessEnv,
): Finding {
  const { package: name, binaries } = report;
  const [sentence] = error.split('\n');
  if (noDevice)
    return { what: `${name}: ${sentence}`, help: `only if this machine has such a device: quern devices` };
  if (unloaded) return { what: `${name} does not load: ${sentence}`, help: `npm install ${name}@latest` };
  if (env.QUERN_CPU_ISA && code === 'UNSUPPORTED' && error.includes(env.QUERN_CPU_ISA))
    return { what: `${name}: ${sentence}`, help: 'unset QUERN_CPU_ISA' };
  const unfit = binaries.find((each) => each.unfit !== undefined);
  if (unfit) return { what: `${name}: ${unfit.path}: ${unfit.unfit}`, help: binaryHelp(name, unfit) };
  const [first] = binaries;
  if (first) return { what: `${name}: ${first.path}: ${sentence}`, help: binaryHelp(name, first) };
  return { what: `${name}: ${sentence}`, help: noBinaryHelp(name) };
}
