import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Addon, loadAddon, platform } from '@quern/native-runtime';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const here = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/**
 * Loads the native addon. QUERN_CUDA_BINARY: only this file. Otherwise: the local build, then the prebuilt binary.
 * Throws UNSUPPORTED, with all candidates tried, if no binary loads.
 */
export function loadCudaAddon(): Addon {
  const forced = process.env.QUERN_CUDA_BINARY;
  const usual = [
    resolve(here, '../../build/Release/backend_cuda.node'),
    () => `@quern/backend-cuda-${platform()}`,
  ];
  return loadAddon({
    packageName: '@quern/backend-cuda',
    from: here,
    candidates: forced ? [forced] : usual,
    help: [
      'If optional dependencies were skipped, install them: npm install --include=optional',
      'In a bundle: install @quern/backend-cuda beside it, or set QUERN_CUDA_BINARY to the path of backend_cuda.node',
      'To build it here (needs CMake, a C++20 compiler and nvcc): npx quern-backend-cuda build',
    ],
  });
}
