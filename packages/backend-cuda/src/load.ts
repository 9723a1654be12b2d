import nodeModule from 'node:module';
import { fileURLToPath } from 'node:url';
import {
  type Addon,
  addonPlaces,
  type BinaryDescription,
  describeBinary as describe,
  loadAddon,
} from '@quern/native-runtime';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const from = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/**
 * Tools that trace an application's files (Next, Vercel) find the binaries by `module.createRequire` and literal names.
 * webpack leaves it alone in this form.
 */
function prebuiltOf(module: typeof nodeModule) {
  const fromHere = module.createRequire(from);
  return {
    'linux-x64-gnu': () => fromHere('@quern/backend-cuda-linux-x64-gnu'),
    'linux-arm64-gnu': () => fromHere('@quern/backend-cuda-linux-arm64-gnu'),
    'win32-x64': () => fromHere('@quern/backend-cuda-win32-x64'),
  };
}

const prebuilt = prebuiltOf(nodeModule);

const places = () =>
  addonPlaces({ backend: 'cuda', from, prebuilt, needs: 'CMake, a C++20 compiler and nvcc' });

/** Loads the native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export const loadCudaAddon = (): Addon => loadAddon(places());

/** Which binary this package takes, and why; or why none loads, and what helps. */
export const describeBinary = (): BinaryDescription => describe(places());
