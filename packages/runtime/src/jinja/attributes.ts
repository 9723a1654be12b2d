import type { Builtin } from './define.js';
import { TemplateFailure } from './error.js';
import { dictMethods } from './methods/dict.js';
import { sequenceMethods } from './methods/sequence.js';
import { textMethods } from './methods/text.js';
import { elementAt, isSequence } from './sequence.js';
import { Text } from './text.js';
import type { Context } from './value.js';
import {
  Callable,
  Dict,
  found,
  isList,
  Namespace,
  Tuple,
  text,
  typeName,
  Undefined,
  type Value,
} from './value.js';

/** `object.name`: a method or a field, else an entry. */
export function attribute(context: Context, object: Value, name: string): Value {
  context.budget.step();
  if (object instanceof Undefined) return object.fail();
  return found(own(object, name), () =>
    found(entry(object, text(name), context), () => missing(object, name)),
  );
}

/** `object[index]`: an entry, else a method or a field. */
export function item(context: Context, object: Value, index: Value): Value {
  context.budget.step();
  if (object instanceof Undefined) return object.fail();
  const element = entry(object, index, context);
  if (element !== undefined) return element;
  return index instanceof Text
    ? found(own(object, index.value), () => missing(object, index.value))
    : new Undefined(`${describe(object)} has no element ${index instanceof Undefined ? '' : String(index)}`);
}

const describe = (object: Value): string => (object === null ? "'None'" : `'${typeName(object)} object'`);

const missing = (object: Value, name: string): Undefined =>
  new Undefined(`${describe(object)} has no attribute '${name}'`);

function entry(object: Value, index: Value, { budget }: Context): Value | undefined {
  if (object instanceof Dict) {
    if (index instanceof Undefined) return undefined;
    return object.get(index);
  }
  if (!isSequence(object)) return undefined;
  if (typeof index !== 'bigint' && typeof index !== 'boolean') return undefined;
  return elementAt(object, index, budget);
}

function own(object: Value, name: string): Value | undefined {
  if (object instanceof Namespace) return object.fields.get(name);
  if (object instanceof Callable) return object.field(name);
  if (object instanceof Text) return method(textMethods, object, name);
  if (object instanceof Dict) return method(dictMethods, object, name);
  if (isList(object)) return method(sequenceMethods, object, name) ?? changing(object, name);
  if (!(object instanceof Tuple)) return undefined;
  const item = object.named(name);
  return item === undefined ? method(sequenceMethods, object.items, name) : item;
}

function method<T>(
  methods: Readonly<Record<string, Builtin<Value, T>>>,
  object: T,
  name: string,
): Callable | undefined {
  if (!Object.hasOwn(methods, name)) return undefined;
  return new Callable(name, (context, args) => methods[name]!(context, object, args));
}

const CHANGING: readonly string[] = [
  'append',
  'clear',
  'extend',
  'insert',
  'pop',
  'remove',
  'reverse',
  'sort',
];

/** Methods that change a value. transformers' sandbox forbids them too; `list + [item]` makes a new list instead. */
function changing(object: Value, name: string): Callable | undefined {
  if (!CHANGING.includes(name)) return undefined;
  return new Callable(name, () => {
    throw new TemplateFailure(
      `a ${typeName(object)} cannot be changed: .${name}() is not allowed in templates`,
    );
  });
}
