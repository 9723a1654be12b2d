import type { BackendPlan } from '@quern/core';
import { needNotAborted } from '../need-not-aborted.js';
import { chooseBackends } from './choose-backends.js';
import { type LoadOptions, resolveLoadOptions } from './load-options.js';
import { locateModel, type ModelLocator } from './locate-model.js';
import { openLanguageFile } from './open-file.js';

/**
 * The plan that `loadModel` would make with these options on this machine: no weight is read, no cache allocated.
 * @throws RuntimeError, ModelError, FileError and BackendError as `loadModel` before it loads
 */
export async function planModel(pathOrId: ModelLocator, options: LoadOptions = {}): Promise<BackendPlan> {
  const resolved = resolveLoadOptions('planModel', options);
  const path = await locateModel('planModel', pathOrId, resolved.resolveFrom, resolved);
  const file = await openLanguageFile(path, resolved);
  needNotAborted(resolved.signal, 'planning');
  const { plan, owned } = await chooseBackends(file, resolved);
  for (const backend of owned) backend.dispose();
  needNotAborted(resolved.signal, 'planning');
  return plan;
}
