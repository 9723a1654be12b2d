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
    'linux-x64-gnu': () => fromHere('@quern/backend-cpu-linux-x64-gnu'),
    'linux-arm64-gnu': () => fromHere('@quern/backend-cpu-linux-arm64-gnu'),
    'linux-x64-musl': () => fromHere('@quern/backend-cpu-linux-x64-musl'),
    'linux-arm64-musl': () => fromHere('@quern/backend-cpu-linux-arm64-musl'),
    'darwin-arm64': () => fromHere('@quern/backend-cpu-darwin-arm64'),
    'darwin-x64': () => fromHere('@quern/backend-cpu-darwin-x64'),
    'win32-x64': () => fromHere('@quern/backend-cpu-win32-x64'),
    'win32-arm64': () => fromHere('@quern/backend-cpu-win32-arm64'),
  };
}

const prebuilt = prebuiltOf(nodeModule);

const places = () => addonPlaces({ backend: 'cpu', from, prebuilt, needs: 'CMake and a C++20 compiler' });

/** Loads the native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export const loadCpuAddon = (): Addon => loadAddon(places());

/** Which binary this package takes, and why; or why none loads, and what helps. */
export const describeBinary = (): BinaryDescription => describe(places());
