import { type Backend, BackendError, defineBackend } from '@quern/core';
import { plainDriver } from './driver.js';

/** Options that Quern passes to every backend. This one has one thread, no instruction sets, and is exact. */
const ignored = ['threads', 'isa', 'precision'];

/** Quern calls this function to load the backend. Rejects with BAD_ARGUMENT for an unknown option. */
export async function createBackend(options: Readonly<Record<string, unknown>> = {}): Promise<Backend> {
  const other = Object.keys(options).find((name) => !ignored.includes(name));
  if (other !== undefined) throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'`);
  return defineBackend(plainDriver());
}
