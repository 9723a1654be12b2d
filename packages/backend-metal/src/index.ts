import { type Backend, BackendError, type DeviceDescription, defineBackend } from '@quern/core';
import { checkGpuOptions, listDevices } from '@quern/native-runtime';
import { type MetalOptions, metalDriver, metalLibrary } from './driver.js';
import { loadMetalAddon } from './load.js';

export { type MetalOptions, metalDriver } from './driver.js';
export { describeBinary } from './load.js';

/** Metal is a part of macOS: elsewhere there is nothing to load. A library in its place may be anywhere. */
function needSystem(): void {
  if (process.platform === 'darwin' || metalLibrary() !== 'metal') return;
  throw new BackendError(
    'UNSUPPORTED',
    `Metal needs macOS 15 or later on Apple silicon; this is ${process.platform}-${process.arch}`,
  );
}

/**
 * The function through which Quern loads this backend. Rejects as `metalDriver`, and with BAD_ARGUMENT for an unknown
 * option.
 */
export async function createBackend(options: MetalOptions = {}): Promise<Backend> {
  checkGpuOptions(options);
  needSystem();
  return defineBackend(await metalDriver(options));
}

/**
 * The GPUs of this machine; opens none. Empty without Metal or without a GPU: `createBackend` says which. Rejects with
 * UNSUPPORTED without a binary.
 */
export async function devices(): Promise<readonly DeviceDescription[]> {
  if (process.platform !== 'darwin' && metalLibrary() === 'metal') return [];
  return listDevices(loadMetalAddon(), { library: metalLibrary() });
}
