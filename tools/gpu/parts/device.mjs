// The device under test.

import { cudaDriver } from '@quern/backend-cuda';
import { defineBackend } from '@quern/core';

/** A backend whose ops run as recorded, or fused where `fuse` names a fused op. */
const openDevice = async (fuse, options) => defineBackend(await cudaDriver(options), { fuse });

/** The result of `use`; then the resource is disposed. */
export async function owning(resource, use) {
  try {
    return await use(resource);
  } finally {
    resource.dispose();
  }
}

/** `use` of a backend of its own. `options`: of cudaDriver, such as `precision`. */
export const withDevice = async (fuse, use, options) => owning(await openDevice(fuse, options), use);
