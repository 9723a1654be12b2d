import { type Backend, BackendError, defineBackend } from '@quern/core';
import { referenceDriver } from './driver.js';

export { referenceDriver } from './driver.js';
export { referenceGroup } from './group.js';
export { kernelOf } from './kernel.js';
export type { DenseWeight } from './weight.js';

/** Options that every backend receives. This backend computes on the JavaScript thread and has no instruction sets. */
const ignored = ['threads', 'isa'];

/** Entry point by which Quern finds this backend. It has no options of its own: rejects any with BAD_ARGUMENT. */
export async function createBackend(options: Readonly<Record<string, unknown>> = {}): Promise<Backend> {
  const other = Object.keys(options).find((name) => !ignored.includes(name));
  if (other !== undefined) throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'`);
  return defineBackend(referenceDriver());
}
