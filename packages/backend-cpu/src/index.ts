import { type Backend, defineBackend } from '@quern/core';
import { type CpuOptions, cpuDriver } from './driver.js';

export { type CpuOptions, cpuDriver } from './driver.js';

/** The door through which Quern finds this backend. Rejects as `cpuDriver`. */
export async function createBackend(options: CpuOptions = {}): Promise<Backend> {
  return defineBackend(await cpuDriver(options));
}
