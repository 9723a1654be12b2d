// Settings of a run: the kit, the size of the work, where results go.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Tiny shapes, for a dry run on an emulated GPU. */
export const small = process.env.QUERN_GPU_SMALL === '1';

export const kit = dirname(dirname(fileURLToPath(import.meta.url)));
export const facts = JSON.parse(readFileSync(join(kit, 'kit.json'), 'utf8'));

const out = process.env.OUT ?? '.';
/** Reports and logs, which travel in results.tar alone. */
export const detailPath = (name) => join(process.env.QUERN_GPU_DETAILS ?? out, name);
/** Of a part's results. Those of the machine and of the whole command travel in the tar alone: a place may return no more than eight files. */
export const resultsPath = (part) =>
  ['facts', 'run'].includes(part) ? detailPath(`results-${part}.json`) : join(out, `results-${part}.json`);

const start = performance.now();
const now = () => Date.now() / 1000;
/** When this part must end, in seconds since 1970. */
const end = Number(process.env.QUERN_GPU_END ?? now() + 540);
export const secondsLeft = () => end - now();

/** Limits of single cases are those of an H100's machine times this: a dry run has more time. */
export const patience = Number(process.env.QUERN_GPU_PATIENCE ?? 1);

/** [item, end]: items that share the seconds from now to `until` in proportion to `seconds`; what one leaves, the next ones have. */
export function schedule(items, until = end) {
  const total = items.reduce((sum, { seconds }) => sum + seconds, 0);
  const from = now();
  let before = 0;
  return items.map((item) => {
    before += item.seconds;
    return [item, from + ((until - from) * before) / total];
  });
}
export const secondsUntil = (time) => time - now();

/** The text that a program prints, or undefined where it is missing or fails. */
export function outputOf(command, args, options = {}) {
  try {
    return execFileSync(command, args, { stdio: ['ignore', 'pipe', 'pipe'], maxBuffer: 1 << 28, ...options })
      .toString()
      .trim();
  } catch (error) {
    if (error.code !== 'ENOENT')
      console.log(
        `${command}: ${String(error.stderr ?? error.message)
          .trim()
          .slice(-2000)}`,
      );
    return undefined;
  }
}

/** Arguments of nvidia-smi: the device, its driver, memory and clocks. */
export const nvidiaQuery = [
  '--query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit',
  '--format=csv,noheader',
];
const nvidia = () => outputOf('nvidia-smi', nvidiaQuery, { timeout: 5000 });

let driver;

/** The device, for the results of every part. */
export function machineOf({ profile }) {
  const { name, isa, threads, totalMemory } = profile;
  driver ??= process.env.QUERN_GPU_DRIVER ?? nvidia() ?? ''; // nvidia-smi may take a second
  return {
    device: name,
    isa,
    multiprocessors: threads,
    memory: totalMemory,
    driver: driver || null,
    ...facts,
  };
}

/** Under another name first: a part that is killed leaves whole results. A full disk does not end a part: its output has them too. */
function save(part, results) {
  const path = resultsPath(part);
  const seconds = Math.round(performance.now() - start) / 1000;
  try {
    writeFileSync(`${path}.new`, `${JSON.stringify({ part, small, seconds, ...results }, null, 1)}\n`);
    renameSync(`${path}.new`, path);
  } catch (error) {
    console.error(`${part}: the results could not be saved: ${error.message}`);
    process.exitCode = 1;
  }
  return { path, seconds };
}

/** What a part has so far. */
export const saveUnfinished = (part, results) => save(part, { ...results, unfinished: true });

/** `results.problems`: sentences on what went wrong, which run.mjs and report.mjs repeat. */
export function writeResults(part, results) {
  const { path, seconds } = save(part, results);
  if (results.problems?.length > 0) process.exitCode = 1;
  console.log(`${part}: ${seconds.toFixed(1)} s; written to ${path}`);
}

export function readResults(part) {
  const path = resultsPath(part);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}
