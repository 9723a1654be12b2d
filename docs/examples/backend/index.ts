import { type Backend, defineBackend } from '@quern/core';
import { plainDriver } from './driver.js';

/** The door through which Quern finds this backend. */
export async function createBackend(): Promise<Backend> {
  return defineBackend(plainDriver());
}
