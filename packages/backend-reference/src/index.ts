import { type Backend, defineBackend } from '@quern/core';
import { referenceDriver } from './driver.js';

export { referenceDriver } from './driver.js';
export { kernelOf } from './kernel.js';
export type { DenseWeight } from './weight.js';

/** The door through which Quern finds this backend. */
export async function createBackend(): Promise<Backend> {
  return defineBackend(referenceDriver());
}
