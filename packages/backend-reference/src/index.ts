import { type Backend, BackendError, defineBackend, precisions, rules, showValue } from '@quern/core';
import { referenceDriver } from './driver.js';

export { referenceDriver } from './driver.js';
export { referenceGroup } from './group.js';
export { kernelOf } from './kernel.js';
export type { DenseWeight } from './weight.js';

/**
 * Options that every backend receives. This backend computes on the JavaScript thread, has no instruction sets, and is
 * exact: no precision may round less.
 */
const ignored = ['threads', 'isa', 'precision'];
const known = rules.oneOf(precisions);

/**
 * Entry point by which Quern finds this backend. It has no options of its own: rejects any with BAD_ARGUMENT, and an
 * unknown `precision`.
 */
export async function createBackend(options: Readonly<Record<string, unknown>> = {}): Promise<Backend> {
  const other = Object.keys(options).find((name) => !ignored.includes(name));
  if (other !== undefined) throw new BackendError('BAD_ARGUMENT', `there is no option '${other}'`);
  const { precision } = options;
  if (precision !== undefined && !known.holds(precision))
    throw new BackendError('BAD_ARGUMENT', `precision must be ${known.must}; got ${showValue(precision)}`);
  return defineBackend(referenceDriver());
}
