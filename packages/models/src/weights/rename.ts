import { rules, showValue } from '@quern/core';
import { badArchitecture } from '../check-architecture.js';
import { callOf } from '../checked-calls.js';
import type { WeightFile } from './weight-file.js';

/** An architecture's tensors under the names of its weight table, by `rename`. @throws ModelError BAD_ARCHITECTURE */
export function renamed(
  architecture: { readonly name: string; rename?(file: WeightFile): WeightFile },
  file: WeightFile,
): WeightFile {
  if (!architecture.rename) return file;
  const given = callOf(architecture.name, 'rename', () => architecture.rename?.(file));
  if (rules.isObject(given) && given.tensors instanceof Map) return given;
  throw badArchitecture(
    architecture.name,
    `rename must return a file with a Map of tensors, as mapTensors does; it returned ${showValue(given)}`,
  );
}
