// Loads backends in a process of its own and reports to the parent: a damaged binary may end the process that loads it.
// Arguments: the script of the parent, which the search for packages starts from, and the name of one package (none: all).
import { createRequire } from 'node:module';
import { findBackend, findBackends } from '@quern/runtime';
import type { ProbedBackend, ProbeReport } from './doctor/probe-backends.js';

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

/** The native addons that this process has loaded. */
const addons = (): string[] =>
  Object.keys(createRequire(process.execPath).cache).filter((path) => path.endsWith('.node'));

const one = async (name: string): Promise<Candidate[]> => [await findBackend(name)];

async function probe(name: string | undefined): Promise<ProbeReport> {
  const candidates = await (name === undefined ? findBackends() : one(name));
  const backends = candidates.map(probed);
  for (const { backend } of candidates) backend?.dispose();
  return { backends, addons: addons() };
}

process.argv.splice(1, 1); // this script
const report = await probe(process.argv[2]).catch(
  (error: Error): ProbeReport => ({ backends: [], addons: addons(), error: error.message }),
);
if (process.send) process.send(report, () => process.disconnect());
else process.stdout.write(`${JSON.stringify(report)}\n`);
