// Builds the addon of a GPU backend, and the emulated device in the place of its driver, into build/emulated of the package; with
// QUERN_SANITIZE=1 into build/sanitized, under the address and undefined sanitizers.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const sanitized = process.env.QUERN_SANITIZE === '1';
const sanitizers = '-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all';
const flags = sanitized ? ['-DCMAKE_BUILD_TYPE=None', `-DCMAKE_CXX_FLAGS=${sanitizers}`] : [];

const env = { ...process.env, LD_PRELOAD: '' }; // no sanitizer in cmake
const cmake = (...args) => execFileSync('cmake', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });

/** Whether this process made the folder. */
function makes(folder) {
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

/** Whether the process that wrote its number into `owner` runs no longer. */
function isLeft(owner) {
  try {
    process.kill(Number(readFileSync(owner, 'utf8')), 0);
    return false;
  } catch (error) {
    return error.code === 'ESRCH';
  }
}

/** Runs `act` while no other process does. */
function alone(lock, act) {
  const owner = join(lock, 'process');
  const start = Date.now();
  while (!makes(lock)) {
    if (isLeft(owner)) rmSync(lock, { recursive: true, force: true });
    if (Date.now() - start > 300_000) throw new Error(`${lock} stays: remove it if no test is running`);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
  try {
    writeFileSync(owner, String(process.pid));
    act();
  } finally {
    rmSync(lock, { recursive: true });
  }
}

/**
 * name: 'cuda' of packages/backend-cuda, whose folder is `root`; `folder`: of the build. The settings with which the backend runs on
 * the emulated device.
 */
export function buildEmulated(
  name,
  root,
  options = [],
  folder = sanitized ? 'build/sanitized' : 'build/emulated',
) {
  const build = join(root, folder);
  const upper = name.toUpperCase();
  mkdirSync(build, { recursive: true });
  alone(join(build, 'lock'), () => {
    cmake('-S', root, '-B', build, `-DQUERN_EMULATED_${upper}=ON`, ...options, ...flags);
    cmake('--build', build, '--parallel', '2');
  });
  return {
    [`QUERN_${upper}_BINARY`]: join(build, `backend_${name}.node`),
    [`QUERN_${upper}_LIBRARY`]: join(build, `libemulated_${name}.so`),
  };
}
