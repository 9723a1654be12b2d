import { quernPackages } from '@quern/runtime';
import { type MemoryReport, memoryReport } from '../doctor/memory.js';
import { type FailedProbe, type ProbedBackend, probeBackends } from '../doctor/probe-backends.js';
import { type FoundModel, localModels } from './local-models.js';

type Device = Exclude<ProbedBackend, FailedProbe>;

/** What `quern` alone shows. */
export interface Surroundings {
  /** Devices to compute with, best first. */
  readonly devices: readonly Device[];
  /** Backends that should work, and do not. */
  readonly failed: readonly FailedProbe[];
  readonly memory: MemoryReport;
  readonly local: readonly FoundModel[];
  /** Of the Hub, the latest used first. */
  readonly cached: readonly FoundModel[];
}

const isDevice = (probed: ProbedBackend): probed is Device => !('error' in probed);

/** Backends of machines with another device are no failures. */
const hasFailed = (probed: ProbedBackend): probed is FailedProbe => 'error' in probed && !probed.noDevice;

/** A cache that cannot be read has no models here: `quern ls` and `quern doctor` say why. */
async function cachedModels(): Promise<FoundModel[]> {
  try {
    const { list } = await import('@quern/hub');
    const models = await list();
    return models.sort((a, b) => b.lastUsed.getTime() - a.lastUsed.getTime());
  } catch {
    return [];
  }
}

export async function lookAround(folder = process.cwd()): Promise<Surroundings> {
  const packages = quernPackages().filter(({ quern }) => quern.backend !== undefined);
  const byName = packages.filter(({ quern }) => quern.auto === false).map(({ name }) => name);
  const [{ backends }, cached] = await Promise.all([
    probeBackends(packages.map(({ name }) => name)),
    cachedModels(),
  ]);
  const usual = backends.filter((each) => !byName.includes(each.package));
  return {
    devices: usual.filter(isDevice),
    failed: usual.filter(hasFailed),
    memory: memoryReport(),
    local: localModels(folder),
    cached,
  };
}
