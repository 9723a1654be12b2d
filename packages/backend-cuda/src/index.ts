import { type Backend, type DeviceDescription, defineBackend } from '@quern/core';
import { checkGpuOptions, listDevices } from '@quern/native-runtime';
import { type CudaOptions, cudaDriver, cudaLibrary } from './driver.js';
import { loadCudaAddon } from './load.js';

export { type CudaOptions, cudaDriver } from './driver.js';
export { describeBinary } from './load.js';

/**
 * The function through which Quern loads this backend. Rejects as `cudaDriver`, and with BAD_ARGUMENT for an unknown
 * option.
 */
export async function createBackend(options: CudaOptions = {}): Promise<Backend> {
  checkGpuOptions(options);
  return defineBackend(await cudaDriver(options));
}

/**
 * The GPUs of this machine; opens none. Empty without NVIDIA's driver or without a GPU: `createBackend` says which.
 * Rejects with UNSUPPORTED without a binary, or if the driver is too old.
 */
export async function devices(): Promise<readonly DeviceDescription[]> {
  return listDevices(loadCudaAddon(), { library: cudaLibrary() });
}
