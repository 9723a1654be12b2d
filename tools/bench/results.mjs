// The results, one JSON file, rewritten after every work: an interrupted run can be continued.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Properties of the machine that decide whether figures are comparable. */
export const thisMachine = () => ({
  cpu: cpus()[0]?.model ?? process.arch,
  cores: availableParallelism(),
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  node: process.version,
  platform: `${process.platform}-${process.arch}`,
});

/** The measured commit; '+': packages have uncommitted changes. */
export function quernCommit() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim();
  try {
    return git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain', 'packages') ? '+' : '');
  } catch {
    return 'unknown';
  }
}

export function readResults(path) {
  const results = JSON.parse(readFileSync(path, 'utf8'));
  if (!Array.isArray(results.measurements)) throw new Error(`${path} has no measurements`);
  return results;
}

/** Names of the parts of the heading that must be the same. */
const parts = { machine: 'machine', peer: 'peer', built: 'build of llama.cpp', quick: 'quick' };

/**
 * The results so far, or empty ones; refuses to mix machines, releases of the peer, or builds of llama.cpp (`built`; results
 * without one take this one).
 */
export function openResults(path, heading) {
  if (!existsSync(path)) return { ...heading, measurements: [] };
  const { measurements, ...about } = readResults(path);
  const results = { ...about, built: about.built ?? heading.built, measurements };
  for (const [part, name] of Object.entries(parts))
    if (part in heading && JSON.stringify(results[part]) !== JSON.stringify(heading[part]))
      throw new Error(
        `${path} is of another ${name}: ${JSON.stringify(results[part])}, not ${JSON.stringify(heading[part])}. Name another file with --results`,
      );
  return results;
}

export function saveResults(path, results) {
  writeFileSync(`${path}.partial`, `${JSON.stringify(results, null, 1)}\n`);
  renameSync(`${path}.partial`, path);
}

/** The key of a measurement. */
export const keyOf = ({ arch, format, threads, isa, work }) => [arch, format, threads, isa, work].join(' ');

/** Whether the item was measured; `withBuilt`: also on llama.cpp built for this machine. */
export const isFinished = ({ measurements }, item, withBuilt) =>
  measurements.some((one) => keyOf(one) === keyOf(item) && (one.built !== undefined || !withBuilt));
