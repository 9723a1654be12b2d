import { fileURLToPath } from 'node:url';
import { type Addon, loadBackendAddon } from '@quern/native-runtime';

/** Bundlers that convert ESM to CommonJS leave `import.meta.url` empty; `__filename` exists then. */
const from = import.meta.url ? fileURLToPath(import.meta.url) : __filename;

/** Loads the native addon. Throws UNSUPPORTED, with all candidates tried, if no binary loads. */
export const loadCpuAddon = (): Addon =>
  loadBackendAddon({ backend: 'cpu', from, needs: 'CMake and a C++20 compiler' });
