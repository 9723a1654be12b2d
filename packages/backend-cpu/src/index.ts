import { type Backend, BackendError, defineBackend } from '@quern/core';
import { type CpuOptions, cpuDriver } from './driver.js';

export { type CpuOptions, cpuDriver } from './driver.js';
export { describeBinary } from './load.js';

const known = ['threads', 'isa', 'precision'];

/**
 * The function through which Quern loads this backend. Rejects as `cpuDriver`, and with BAD_ARGUMENT for an unknown
 * option.
 */
export async function createBackend(options: CpuOptions = {}): Promise<Backend> {
  const other = Object.keys(options).find((name) => !known.includes(name));
  if (other !== undefined)
    throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'; there are ${known.join(', ')}`);
  return defineBackend(await cpuDriver(options));
}
