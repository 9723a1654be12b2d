// What a part knows of its run: the kit, the size of the work, where results go.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Tiny shapes, to rehearse on an emulated GPU. */
export const small = process.env.QUERN_GPU_SMALL === '1';

export const kit = dirname(dirname(fileURLToPath(import.meta.url)));
export const facts = JSON.parse(readFileSync(join(kit, 'kit.json'), 'utf8'));

const out = process.env.OUT ?? '.';
export const outPath = (name) => join(out, name);

const start = performance.now();
/** Seconds of one part; a machine may be lent for ten minutes a command. */
const limit = Number(process.env.QUERN_GPU_SECONDS ?? 540);
export const secondsLeft = () => limit - (performance.now() - start) / 1000;

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

/** Driver, clocks and other users of the device, as NVIDIA's own tool tells. */
const nvidia = () =>
  outputOf('nvidia-smi', [
    '--query-gpu=name,driver_version,memory.total,clocks.max.sm,clocks.max.mem,power.limit',
    '--format=csv,noheader',
  ]);

/** The device, for the results of every part. */
export function machineOf({ profile }) {
  const { name, isa, threads, totalMemory } = profile;
  return {
    device: name,
    isa,
    multiprocessors: threads,
    memory: totalMemory,
    driver: nvidia() ?? null,
    ...facts,
  };
}

export function writeResults(part, results) {
  const path = outPath(`results-${part}.json`);
  const seconds = Math.round(performance.now() - start) / 1000;
  writeFileSync(path, `${JSON.stringify({ part, small, seconds, ...results }, null, 1)}\n`);
  console.log(`${part}: ${seconds.toFixed(1)} s; written to ${path}`);
}

export function readResults(part) {
  const path = outPath(`results-${part}.json`);
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : undefined;
}
