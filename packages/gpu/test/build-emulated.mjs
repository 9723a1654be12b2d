// Builds the addon of a GPU backend, and the emulated device in the place of its driver, into build/emulated of the package; with
// QUERN_SANITIZE=1 into build/sanitized, under the address and undefined sanitizers.
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { withLock } from './lock.mjs';

const sanitized = process.env.QUERN_SANITIZE === '1';
const sanitizers = '-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all';
const flags = sanitized ? ['-DCMAKE_BUILD_TYPE=None', `-DCMAKE_CXX_FLAGS=${sanitizers}`] : [];

const env = { ...process.env, LD_PRELOAD: '' }; // no sanitizer in cmake

/** Runs cmake; its output goes to the end of `log`. */
function cmake(log, ...args) {
  const output = openSync(log, 'a');
  try {
    execFileSync('cmake', args, { env, stdio: ['ignore', output, 'inherit'] });
  } finally {
    closeSync(output);
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
  withLock(join(build, 'lock'), (log) => {
    cmake(log, '-S', root, '-B', build, `-DQUERN_EMULATED_${upper}=ON`, ...options, ...flags);
    cmake(log, '--build', build, '--parallel', '2');
  });
  return {
    [`QUERN_${upper}_BINARY`]: join(build, `backend_${name}.node`),
    [`QUERN_${upper}_LIBRARY`]: join(build, `libemulated_${name}.so`),
  };
}
