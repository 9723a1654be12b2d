import { type Backend, defineBackend } from '@quern/core';
import { plainDriver } from './driver.js';

/** Quern calls this function to load the backend. */
export async function createBackend(): Promise<Backend> {
  return defineBackend(plainDriver());
}
