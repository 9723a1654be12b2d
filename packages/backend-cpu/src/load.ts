import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Addon, loadAddon, platform } from '@quern/native-runtime';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/**
 * Loads the native addon. QUERN_CPU_BINARY: only this file. Otherwise: the local build, then the prebuilt binary.
 * Throws UNSUPPORTED, with all candidates tried, if no binary loads.
 */
export function loadCpuAddon(): Addon {
  const forced = process.env.QUERN_CPU_BINARY;
  const usual = [
    resolve(here, '../../build/Release/backend_cpu.node'),
    () => `@quern/backend-cpu-${platform()}`,
  ];
  return loadAddon({
    packageName: '@quern/backend-cpu',
    from: here,
    candidates: forced ? [forced] : usual,
    help: [
      'If optional dependencies were skipped, install them: npm install --include=optional',
      'In a bundle: install @quern/backend-cpu beside it, or set QUERN_CPU_BINARY to the path of backend_cpu.node',
      'To build it here (needs CMake and a C++20 compiler): npx quern-backend-cpu build',
    ],
  });
}
