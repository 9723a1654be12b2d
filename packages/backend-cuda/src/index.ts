import { type Backend, BackendError, defineBackend } from '@quern/core';
import { type CudaOptions, cudaDriver } from './driver.js';

export { type CudaOptions, cudaDriver } from './driver.js';

const known = ['device', 'precision'];

/**
 * The function through which Quern loads this backend. Rejects as `cudaDriver`, and with BAD_ARGUMENT for an unknown
 * option.
 */
export async function createBackend(options: CudaOptions = {}): Promise<Backend> {
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'; there are ${known.join(', ')}`);
  return defineBackend(await cudaDriver(options));
}
