// A third-party backend: the reference under another name, with its own option.
import { referenceDriver } from '@quern/backend-reference';
import { BackendError, defineBackend } from '@quern/core';

export async function createBackend({ label }) {
  if (label !== undefined && label !== 7)
    throw new BackendError('BAD_ARGUMENT', `label is ${typeof label} ${label}`);
  return defineBackend({ ...referenceDriver(), name: 'mill' });
}
