import type { Finding, Findings } from './finding.js';
import {
  type BinaryReport,
  type FailedProbe,
  type ProbedBackend,
  type ProbeReport,
  probeBackends,
} from './probe-backends.js';

/** A package that declares a backend, the binary that it takes, and how its backends load. */
export interface BackendReport {
  readonly package: string;
  readonly folder: string;
  /** Absent: it needs none, or loading it ended the process. */
  readonly binary?: BinaryReport;
  /** One for each device. */
  readonly devices: readonly ProbedBackend[];
}

export interface PackageOfBackend {
  readonly name: string;
  readonly folder: string;
}

export async function backendReports(
  packages: readonly PackageOfBackend[],
): Promise<{ readonly reports: readonly BackendReport[]; readonly probe: ProbeReport }> {
  const probe = await probeBackends(packages.map(({ name }) => name));
  const reports = packages.map(({ name, folder }): BackendReport => {
    const binary = probe.binaries[name];
    const devices = probe.backends.filter((each) => each.package === name);
    return { package: name, folder, ...(binary && { binary }), devices };
  });
  return { reports, probe };
}

const isFailed = (device: ProbedBackend): device is FailedProbe => 'error' in device;

export function backendFindings(
  reports: readonly BackendReport[],
  { error }: ProbeReport,
  env: NodeJS.ProcessEnv,
): Findings {
  const faults: Finding[] = [];
  const notes: Finding[] = reports.flatMap(passedOver);
  if (error !== undefined)
    faults.push({ what: `the search for backends failed: ${error}`, help: 'quern devices' });
  if (reports.length === 0)
    faults.push({ what: 'no backend is installed', help: 'npm install @quern/backend-cpu' });
  for (const report of reports)
    for (const device of report.devices.filter(isFailed))
      (device.noDevice ? notes : faults).push(failure(report, device, env));
  return { faults, notes };
}

/** Better binaries than the one that is taken. A local build that was never made is no finding. */
const passedOver = ({ package: name, binary }: BackendReport): Finding[] =>
  (binary?.chosen ? binary.tried : []).flatMap(({ name: file, message, advice }) =>
    advice === undefined || /does not exist/.test(message)
      ? []
      : [{ what: `${name}: ${file} ${message}; it takes ${binary!.chosen!.name}`, help: advice }],
  );

/** 'QUERN_CPU_BINARY' of '@quern/backend-cpu'. */
const variableOf = (name: string): string =>
  `QUERN_${(/backend-([\w-]+)$/.exec(name)?.[1] ?? name).toUpperCase().replace(/\W/g, '_')}_BINARY`;

/** Why a backend does not load, and what helps. */
function failure(
  { package: name, binary }: BackendReport,
  device: FailedProbe,
  env: NodeJS.ProcessEnv,
): Finding {
  const { error, code, noDevice, unloaded, crashed } = device;
  const sentence = `${name}: ${error.split('\n')[0]}`;
  const isa = env.QUERN_CPU_ISA;
  if (noDevice) return { what: sentence, help: 'quern devices, once this machine has such a device' };
  if (unloaded) return { what: sentence, help: `npm install ${name}@latest` };
  if (crashed) return { what: sentence, help: crashHelp(name, env) };
  if (isa && code === 'UNSUPPORTED' && error.includes(isa))
    return { what: sentence, help: 'unset QUERN_CPU_ISA' };
  if (binary && !binary.chosen)
    return { what: binary.reason, help: binary.advice ?? `npm install ${name}@latest` };
  return { what: sentence, help: `npm install ${name}@latest, or another backend: quern run --backend NAME` };
}

function crashHelp(name: string, env: NodeJS.ProcessEnv): string {
  const variable = variableOf(name);
  if (env[variable]) return `unset ${variable}, which names ${env[variable]}`;
  return 'rm -rf node_modules && npm install; a build of your own: build it again, or delete it';
}
