import { fileURLToPath } from 'node:url';
import { BackendError, defineBackend } from '@quern/core';
import { loadAddon, nativeDriver, plainManifest } from '@quern/native-runtime';

/** Creates the driver, for the conformance kit. */
export function createDriver() {
  const addon = loadAddon({
    packageName: 'quern-backend-slate',
    from: fileURLToPath(import.meta.url),
    candidates: ['./build/Release/slate.node'],
    help: ['To build it: npx cmake-js build'],
  });
  return nativeDriver(addon, {
    name: 'slate',
    kind: 'gpu',
    manifest: plainManifest,
    capabilities: { pagedKv: { blockSizes: [16] }, kvQuant: { dtypes: ['bf16', 'int8', 'fp8'] } },
  });
}

/** Options that Quern passes to every backend. This one has no choice of threads, instruction sets or rounding. */
const ignored = ['threads', 'isa', 'precision'];

/** The function through which Quern loads this backend. Rejects with BAD_ARGUMENT for an unknown option. */
export async function createBackend(options = {}) {
  const other = Object.keys(options).find((name) => !ignored.includes(name));
  if (other !== undefined) throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'`);
  return defineBackend(await createDriver());
}
