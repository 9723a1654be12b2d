// Builds the addon, and the emulated device in place of NVIDIA's driver, into build/emulated; with QUERN_SANITIZE=1 into
// build/sanitized, under the address and undefined sanitizers (sanitize.sh).
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const sanitized = process.env.QUERN_SANITIZE === '1';
const build = at(sanitized ? '../build/sanitized' : '../build/emulated');
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

/** The settings with which backend-cuda runs on the emulated device. */
export function buildEmulated() {
  mkdirSync(build, { recursive: true });
  alone(join(build, 'lock'), () => {
    cmake('-S', at('..'), '-B', build, '-DQUERN_EMULATED_CUDA=ON', '-DNVCC=NVCC-NOTFOUND', ...flags);
    cmake('--build', build, '--parallel', '2');
  });
  return {
    QUERN_CUDA_BINARY: join(build, 'backend_cuda.node'),
    QUERN_CUDA_LIBRARY: join(build, 'libemulated_cuda.so'),
  };
}
