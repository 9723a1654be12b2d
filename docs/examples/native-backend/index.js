import { fileURLToPath } from 'node:url';
import { defineBackend } from '@quern/core';
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

/** The function through which Quern loads this backend. */
export const createBackend = async () => defineBackend(await createDriver());
