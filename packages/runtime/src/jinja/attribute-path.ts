import { item } from './attributes.js';
import { needText } from './define.js';
import { Text } from './text.js';
import type { Context } from './value.js';
import { text, Undefined, type Value } from './value.js';

/** Reads an element's key for a filter: the fields of a path such as `function.name`, or the element itself. */
export type Getter = (value: Value) => Value;

/**
 * @param fallback replaces a missing field
 */
export function getter(context: Context, path: Value | undefined, fallback?: Value): Getter {
  if (path === undefined || path === null) return (value) => value;
  const steps = typeof path === 'bigint' ? [path] : needText(path, 'an attribute').value.split('.').map(part);
  return (value) =>
    steps.reduce<Value>((object, step) => {
      const found = item(context, object, step);
      return found instanceof Undefined && fallback !== undefined && fallback !== null ? fallback : found;
    }, value);
}

const part = (name: string): Value => (/^\d+$/.test(name) ? BigInt(name) : text(name));

/** Strings in lower case, unless `caseSensitive`. */
export const folded =
  (get: Getter, caseSensitive: boolean): Getter =>
  (value) => {
    const found = get(value);
    return found instanceof Text && !caseSensitive ? found.map((run) => run.toLowerCase()) : found;
  };
