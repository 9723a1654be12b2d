import { createRequire } from 'node:module';
import { ownFolder, version } from '../own-package.js';
import { type BackendReport, backendFindings, backendReports } from './backends.js';
import { type CacheReport, cacheFindings, cacheReport } from './caches.js';
import { type CpuReport, cpuFindings, cpuReport } from './cpu.js';
import { environmentReport, withoutSecrets } from './environment.js';
import { type Finding, type Findings, joined, noFindings } from './finding.js';
import { type GpuReport, gpuFindings, gpuReport } from './gpus.js';
import { type MemoryReport, memoryFindings, memoryReport } from './memory.js';
import { type InstalledPackage, packageFindings, packageTree } from './packages.js';
import { nodeFindings, type SystemReport, systemReport } from './system.js';

/** What `quern doctor --json` prints. */
export interface DoctorReport {
  readonly quern: string;
  readonly system: SystemReport;
  readonly cpu: CpuReport;
  readonly memory: MemoryReport;
  readonly packages: readonly InstalledPackage[];
  readonly backends: readonly BackendReport[];
  readonly gpus: GpuReport;
  readonly caches: CacheReport;
  readonly environment: Readonly<Record<string, string>>;
  readonly faults: readonly Finding[];
  readonly notes: readonly Finding[];
}

interface FoundPackages {
  /** Those with a "quern" field. */
  readonly plugins: readonly {
    readonly name: string;
    readonly folder: string;
    readonly isBackend: boolean;
  }[];
  readonly findings: Findings;
}

/** The runtime searches; where its import fails, the packages do not fit together. */
async function findPackages(): Promise<FoundPackages> {
  try {
    const { quernPackages } = await import('@quern/runtime');
    const plugins = quernPackages().map(({ name, folder, quern }) => ({
      name,
      folder,
      isBackend: quern.backend !== undefined,
    }));
    return { plugins, findings: noFindings };
  } catch (error) {
    const [first] = (error as Error).message.split('\n');
    const what = `the installed packages of Quern do not fit together: ${first}`;
    const help = 'npm install quern@latest @quern/core@latest, and each @quern package of yours';
    return { plugins: [], findings: { faults: [{ what, help }], notes: [] } };
  }
}

const engines = (): string =>
  (createRequire(`${ownFolder}package.json`)('./package.json') as { engines: { node: string } }).engines.node;

/** The instruction set that a CPU backend has taken. */
const isaIn = (backends: readonly BackendReport[]): string | undefined =>
  backends
    .flatMap(({ devices }) =>
      devices.map((each) => ('isa' in each && each.kind === 'cpu' ? each.isa : undefined)),
    )
    .find((isa) => isa !== undefined);

/** What was looked at, before it is judged. */
type Looked = Omit<DoctorReport, 'quern' | 'environment' | 'faults' | 'notes'>;

async function look(plugins: FoundPackages['plugins'], env: NodeJS.ProcessEnv) {
  const tree = packageTree([ownFolder, ...plugins.map(({ folder }) => folder)]);
  const { reports, probe } = await backendReports(plugins.filter(({ isBackend }) => isBackend));
  const looked: Looked = {
    system: systemReport(),
    cpu: cpuReport(),
    memory: memoryReport(),
    packages: tree.packages,
    backends: reports,
    gpus: gpuReport(),
    caches: await cacheReport(env),
  };
  return { looked, tree, probe };
}

/** Looks at the whole installation. Never rejects for what it looks at: that becomes a fault of the report. */
export async function examine(env: NodeJS.ProcessEnv = process.env): Promise<DoctorReport> {
  const { plugins, findings } = await findPackages();
  const { looked, tree, probe } = await look(plugins, env);
  const { system, cpu, memory, backends, gpus, caches } = looked;
  const found = joined([
    nodeFindings(system.node, engines()),
    findings,
    packageFindings(tree),
    findings === noFindings ? backendFindings(backends, probe, env) : noFindings,
    cpuFindings(cpu, isaIn(backends), env),
    memoryFindings(memory),
    gpuFindings(
      gpus,
      backends.map((each) => each.package),
    ),
    cacheFindings(caches),
  ]);
  return withoutSecrets({ quern: version, ...looked, environment: environmentReport(env), ...found }, env);
}
