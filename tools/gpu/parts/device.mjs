// The device under test.
import { defineBackend } from '@quern/core';
import { facts } from './setting.mjs';

const { [`${facts.backend}Driver`]: driver } = await import(`@quern/backend-${facts.backend}`);
/** Of the kit's backend. */
export const createDriver = driver;

/** A backend whose ops run as recorded, or fused where `fuse` names a fused op. */
const openDevice = async (fuse, options) => defineBackend(await createDriver(options), { fuse });

/** The result of `use`; then the resource is disposed. */
export async function owning(resource, use) {
  try {
    return await use(resource);
  } finally {
    resource.dispose();
  }
}

/** `use` of a backend of its own. `options`: of the driver, such as `precision`. */
export const withDevice = async (fuse, use, options) => owning(await openDevice(fuse, options), use);
