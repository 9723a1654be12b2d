import { equals } from '../compare.js';
import { type Builtin, define, or } from '../define.js';
import { TemplateFailure } from '../error.js';
import type { Value } from '../value.js';

/** The methods of Python's list and tuple that do not change them. */
export const sequenceMethods: Readonly<Record<string, Builtin<Value, readonly Value[]>>> = {
  count: define('value', ({ budget }, items: readonly Value[], value) =>
    BigInt(items.filter((item) => equals(item, or(value, null), budget)).length),
  ),
  index: define('value', ({ budget }, items: readonly Value[], value) => {
    const at = items.findIndex((item) => equals(item, or(value, null), budget));
    if (at < 0) throw new TemplateFailure('index(): the value is not in the list');
    return BigInt(at);
  }),
  copy: define('', (_, items: readonly Value[]) => items),
};
