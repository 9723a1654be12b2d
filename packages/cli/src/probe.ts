// Loads backends in a process of its own and reports to the parent: a damaged binary may end the process that loads it.
// Arguments: the script of the parent, which the search for packages starts from, and the name of one package (none: all).
import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { findBackend, findBackends, quernPackages } from '@quern/runtime';
import type { BinaryReport, ProbedBackend, ProbeReport } from './doctor/probe-backends.js';

type Candidate = Awaited<ReturnType<typeof findBackends>>[number];

function probed(candidate: Candidate): ProbedBackend {
  const { package: owner, backend } = candidate;
  if (!backend) {
    const { error, code, noDevice, unloaded } = candidate;
    return {
      package: owner,
      error,
      ...(code !== undefined && { code }),
      ...(noDevice && { noDevice }),
      ...(unloaded && { unloaded }),
    };
  }
  const { name, kind, isa, threads, precision, driver, totalMemory } = backend.profile;
  return {
    package: owner,
    backend: candidate.name,
    device: name,
    kind,
    isa,
    threads,
    ...(precision !== undefined && { precision }),
    ...(driver !== undefined && { driver }),
    totalMemory,
    freeMemory: backend.freeMemory(),
  };
}

interface Describing {
  readonly describeBinary?: () => BinaryReport;
}

/** Which binaries the backends take: those of the packages that can say it. */
async function binaries(only: string | undefined): Promise<Record<string, BinaryReport>> {
  const found: Record<string, BinaryReport> = {};
  for (const { name, folder, quern } of quernPackages()) {
    if (quern.backend === undefined || (only !== undefined && only !== name)) continue;
    try {
      const file = realpathSync(join(folder, quern.backend));
      const { describeBinary } = (await import(pathToFileURL(file).href)) as Describing;
      if (describeBinary) found[name] = describeBinary();
    } catch {} // the backend's own error says why
  }
  return found;
}

const one = async (name: string): Promise<Candidate[]> => [await findBackend(name)];

async function probe(name: string | undefined): Promise<ProbeReport> {
  const candidates = await (name === undefined ? findBackends() : one(name));
  const backends = candidates.map(probed);
  for (const { backend } of candidates) backend?.dispose();
  return { backends, binaries: await binaries(name) };
}

process.argv.splice(1, 1); // this script
const [, , only] = process.argv;
const report = await probe(only).catch(
  async (error: Error): Promise<ProbeReport> => ({
    backends: [],
    binaries: await binaries(only),
    error: error.message,
  }),
);
if (process.send) process.send(report, () => process.disconnect());
else process.stdout.write(`${JSON.stringify(report)}\n`);
