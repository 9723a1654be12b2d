import { TemplateFailure } from './error.js';
import { toText } from './print.js';
import { Text } from './text.js';
import type { Context } from './value.js';
import { type Arguments, typeName, Undefined, type Value } from './value.js';

/** A filter, test, method or function, applied to `input`. */
export type Builtin<Result = Value, Input = Value> = (
  context: Context,
  input: Input,
  args: Arguments,
) => Result;

/** Arguments in the order of the parameters; undefined where absent. */
type Given = readonly (Value | undefined)[];

/** Calls `run` with its arguments, given by position or by name. `names`: the parameter names, separated by spaces. */
export function define<Result, Input>(
  names: string,
  run: (context: Context, input: Input, ...given: Given) => Result,
): Builtin<Result, Input> {
  const parameters = names === '' ? [] : names.split(' ');
  return (context, input, args) => run(context, input, ...bind(parameters, args));
}

function bind(parameters: readonly string[], { positional, keyword }: Arguments): Given {
  if (positional.length > parameters.length)
    throw new TemplateFailure(
      `it takes ${parameters.length === 0 ? 'no arguments' : `at most ${parameters.length} (${parameters.join(', ')})`}; got ${positional.length}`,
    );
  for (const name of keyword.keys())
    if (!parameters.includes(name)) throw new TemplateFailure(`it has no argument "${name}"`);
  return parameters.map((name, i) => (i < positional.length ? positional[i] : keyword.get(name)));
}

/** `value`, or `fallback` where the argument is absent. */
export const or = (value: Value | undefined, fallback: Value): Value =>
  value === undefined ? fallback : value;

export function needText(value: Value | undefined, what: string): Text {
  if (value instanceof Text) return value;
  if (value instanceof Undefined) return value.fail();
  throw new TemplateFailure(
    `${what} must be a string; got ${value === undefined ? 'nothing' : typeName(value)}`,
  );
}

/** Any value as a string; its characters count as read. */
export function asText({ budget }: Context, value: Value): Text {
  budget.step();
  const whole = toText(value, budget);
  budget.read(whole.length);
  return whole;
}

/** Counts a new string in the budget. */
export function madeText({ budget }: Context, made: Text): Text {
  budget.characters(made.length);
  return made;
}

/** Counts a new list in the budget. */
export function madeList<T extends Value>({ budget }: Context, made: readonly T[]): readonly T[] {
  budget.elements(made.length);
  return made;
}

export const NO_ARGUMENTS: Arguments = { positional: [], keyword: new Map() };
