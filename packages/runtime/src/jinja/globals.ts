import { asText, type Builtin, define, needText, or } from './define.js';
import { TemplateFailure, TemplateRefusal } from './error.js';
import { toIndex } from './number.js';
import { elements } from './sequence.js';
import { strftime } from './strftime.js';
import { EMPTY } from './text.js';
import { type Arguments, Callable, Dict, Namespace, Range, text, type Value } from './value.js';

type Global = Builtin<Value, null>;

function range(positional: readonly Value[]): Range {
  if (positional.length < 1 || positional.length > 3)
    throw new TemplateFailure('range() takes 1 to 3 arguments');
  const [first = 0, second, third = 1] = positional.map((value) => toIndex(value, 'an argument of range()'));
  if (third === 0) throw new TemplateFailure('range() with step 0 never ends');
  return second === undefined ? new Range(0, first, 1) : new Range(first, second, third);
}

/** Pairs from a dict or a list of pairs, then from the named arguments. */
function dictOf(context: Parameters<Global>[0], { positional, keyword }: Arguments): Dict {
  const [source] = positional;
  const dict = new Dict(source instanceof Dict ? source.pairs() : []);
  if (source !== undefined && !(source instanceof Dict))
    for (const pair of elements(source, context.budget)) {
      const [key, value] = elements(pair, context.budget);
      if (key === undefined || value === undefined)
        throw new TemplateFailure('dict() needs pairs of key and value');
      dict.set(key, value);
    }
  for (const [name, value] of keyword) dict.set(text(name), value);
  context.budget.elements(dict.size);
  return dict;
}

function namespace(context: Parameters<Global>[0], args: Arguments): Namespace {
  const made = new Namespace();
  for (const [key, value] of dictOf(context, args).pairs())
    made.fields.set(needText(key, 'a field').value, value);
  return made;
}

function cycler(items: readonly Value[]): Callable {
  if (items.length === 0) throw new TemplateFailure('cycler() needs at least one item');
  let at = 0;
  const fields: Readonly<Record<string, () => Value>> = {
    current: () => items[at]!,
    next: () => method('next', () => items[advance()]!),
    reset: () =>
      method('reset', () => {
        at = 0;
        return null;
      }),
  };
  const advance = () => {
    const current = at;
    at = (at + 1) % items.length;
    return current;
  };
  return new Callable('cycler', notCallable, (name) =>
    Object.hasOwn(fields, name) ? fields[name]!() : undefined,
  );
}

const notCallable = (): never => {
  throw new TemplateFailure('a cycler is not called: its .next() is');
};

const method = (name: string, run: () => Value): Callable => new Callable(name, run);

function joiner(separator: Value): Callable {
  let used = false;
  return new Callable('joiner', () => {
    if (used) return separator;
    used = true;
    return EMPTY;
  });
}

/** Global functions of jinja2 and of transformers. */
const functions: Readonly<Record<string, Global>> = {
  cycler: (_, __, { positional }) => cycler(positional),
  dict: (context, _, args) => dictOf(context, args),
  joiner: define('sep', (_, __: null, separator) => joiner(or(separator, text(', ')))),
  namespace: (context, _, args) => namespace(context, args),
  raise_exception: define('message', (context, _: null, message) => {
    throw new TemplateRefusal(asText(context, or(message, EMPTY)).value);
  }),
  range: (_, __, { positional }) => range(positional),
  strftime_now: define('format', (context, _: null, format) => {
    const pattern = needText(format, 'the format');
    context.budget.characters(pattern.length * 10);
    return text(strftime(context.now, pattern.value));
  }),
};

export const GLOBALS: ReadonlyMap<string, Callable> = new Map(
  Object.entries(functions).map(([name, run]) => [
    name,
    new Callable(name, (context, args) => run(context, null, args)),
  ]),
);
