import { type Backend, BackendError, type DeviceDescription, defineBackend } from '@quern/core';
import { listDevices } from '@quern/native-runtime';
import { type MetalOptions, metalDriver, metalLibrary } from './driver.js';
import { loadMetalAddon } from './load.js';

export { type MetalOptions, metalDriver } from './driver.js';

const known = ['device', 'precision', 'threads', 'isa'];

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
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'; there are ${known.join(', ')}`);
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
