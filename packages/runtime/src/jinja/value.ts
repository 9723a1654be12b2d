import { JsonNumber } from '@quern/grammar';
import type { Budget } from './budget.js';
import { TemplateFailure } from './error.js';
import { Text } from './text.js';

/** A value of a template: int is bigint, float is number. A `JsonNumber` is a float that prints as it is written. */
export type Value =
  | Text
  | bigint
  | number
  | JsonNumber
  | boolean
  | null
  | Undefined
  | readonly Value[]
  | Tuple
  | Range
  | Dict
  | Namespace
  | Callable;

/** The value of an unknown name or field: prints as nothing; most other uses fail. */
export class Undefined {
  constructor(readonly reason: string) {}

  fail(): never {
    throw new TemplateFailure(this.reason);
  }
}

/** Python's tuple. Tuples from `groupby` have names for their items. */
export class Tuple {
  constructor(
    readonly items: readonly Value[],
    readonly names: readonly string[] = [],
  ) {}

  named(name: string): Value | undefined {
    return this.items[this.names.indexOf(name)];
  }
}

/** Python's range: elements are made on demand. */
export class Range {
  readonly length: number;

  constructor(
    readonly start: number,
    readonly stop: number,
    readonly step: number,
  ) {
    this.length = Math.max(0, Math.ceil((stop - start) / step));
  }

  at(index: number): bigint {
    return BigInt(this.start + index * this.step);
  }
}

/** Python's dict: keys in order of insertion; 1, 1.0 and true are one key. */
export class Dict {
  private readonly entries = new Map<string, readonly [key: Value, value: Value]>();

  constructor(pairs: Iterable<readonly [Value, Value]> = []) {
    for (const [key, value] of pairs) this.set(key, value);
  }

  get size(): number {
    return this.entries.size;
  }

  get(key: Value): Value | undefined {
    return this.entries.get(hash(key))?.[1];
  }

  getText(key: string): Value | undefined {
    return this.entries.get(`s${key}`)?.[1];
  }

  set(key: Value, value: Value): void {
    const at = hash(key);
    const [first] = this.entries.get(at) ?? [key];
    this.entries.set(at, [first, value]);
  }

  pairs(): (readonly [Value, Value])[] {
    return [...this.entries.values()];
  }
}

/** The result of `namespace()`: fields that `{% set ns.field = … %}` can change. */
export class Namespace {
  readonly fields = new Map<string, Value>();
}

/** The arguments of a call. */
export interface Arguments {
  readonly positional: readonly Value[];
  readonly keyword: ReadonlyMap<string, Value>;
}

/** The template's services for filters, tests, methods and functions. */
export interface Context {
  readonly budget: Budget;
  /** The time for `strftime_now`. */
  readonly now: Date;
  call(callee: Value, args: Arguments): Value;
  filter(name: string, input: Value, args: Arguments): Value;
  test(name: string, input: Value, args: Arguments): boolean;
  /** `object.name` */
  attribute(object: Value, name: string): Value;
  /** `object[index]` */
  item(object: Value, index: Value): Value;
}

/** A macro, a method or a global function. Some have fields, such as `loop` and `cycler`. */
export class Callable {
  constructor(
    readonly name: string,
    readonly call: (context: Context, args: Arguments) => Value,
    readonly field: (name: string) => Value | undefined = () => undefined,
  ) {}
}

const MOST_KEY_PARTS = 1000;

/** A string, equal for equal keys. `parts.count`: the number of tuple items so far, nested ones included. */
function hash(key: Value, parts = { count: 0 }): string {
  if (key instanceof Text) return `s${key.value}`;
  if (typeof key === 'boolean') return `n${Number(key)}`;
  if (typeof key === 'bigint' || typeof key === 'number') return `n${key}`;
  if (key instanceof JsonNumber) return `n${Number(key)}`;
  if (key === null) return 'none';
  if (key instanceof Tuple) {
    parts.count += key.items.length + 1;
    if (parts.count > MOST_KEY_PARTS)
      throw new TemplateFailure(`a tuple of more than ${MOST_KEY_PARTS} parts cannot be the key of a dict`);
    return `t(${key.items.map((item) => hash(item, parts)).map((part) => `${part.length}:${part}`)})`;
  }
  throw new TemplateFailure(`a ${typeName(key)} cannot be the key of a dict`);
}

/** `value`, or `missing()` for undefined. null is a value. */
export const found = (value: Value | undefined, missing: () => Value): Value =>
  value === undefined ? missing() : value;

/** The type's name in Python. */
export function typeName(value: Value): string {
  if (value instanceof Text) return 'str';
  if (typeof value === 'bigint') return 'int';
  if (typeof value === 'number' || value instanceof JsonNumber) return 'float';
  if (typeof value === 'boolean') return 'bool';
  if (value === null) return 'NoneType';
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Tuple) return 'tuple';
  if (value instanceof Range) return 'range';
  if (value instanceof Dict) return 'dict';
  if (value instanceof Namespace) return 'Namespace';
  return value instanceof Callable ? 'function' : 'list';
}

export const isList = (value: Value): value is readonly Value[] => Array.isArray(value);

export const isNumber = (value: Value): value is bigint | number | boolean =>
  typeof value === 'bigint' || typeof value === 'number' || typeof value === 'boolean';

/** A value to compute with. */
export const computed = (value: Value): Exclude<Value, JsonNumber> =>
  value instanceof JsonNumber ? value.valueOf() : value;

export const isMapping = (value: Value): value is Dict => value instanceof Dict;

export const text = (value: string): Text => new Text(value);

/** Python's truth value. */
export function truth(value: Value): boolean {
  if (value instanceof Text || value instanceof Range) return value.length > 0;
  if (value instanceof Tuple) return value.items.length > 0;
  if (value instanceof Dict) return value.size > 0;
  if (isList(value)) return value.length > 0;
  if (value instanceof Undefined) return false;
  return Boolean(computed(value));
}
