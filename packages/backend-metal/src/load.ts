import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { type Addon, loadBackendAddon } from '@quern/native-runtime';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const from = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

const fromHere = module.createRequire(from);

/** Literal names: tools that trace an application's files (Next, Vercel) find the binaries by them. */
const prebuilt = {
  'darwin-arm64': () => fromHere('@quern/backend-metal-darwin-arm64'),
};

/** Loads the native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export const loadMetalAddon = (): Addon =>
  loadBackendAddon({ backend: 'metal', from, prebuilt, needs: 'CMake and a C++20 compiler' });
