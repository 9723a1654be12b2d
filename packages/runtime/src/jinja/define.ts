import { TemplateFailure } from './error.js';
import { toText } from './print.js';
import { Text } from './text.js';
import type { Context } from './value.js';
import { type Arguments, typeName, Undefined, type Value } from './value.js';

/** A filter, a test, a method or a function: `input` is what it is applied to. */
export type Builtin<Result = Value, Input = Value> = (
  context: Context,
  input: Input,
  args: Arguments,
) => Result;

/** Arguments in the order of the parameters; undefined for those not given. */
type Given = readonly (Value | undefined)[];

/** Gives `run` its arguments by position or by name, as in `names`, which are parted by spaces. */
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

/** What was not given, as what it is then. */
export const or = (value: Value | undefined, fallback: Value): Value =>
  value === undefined ? fallback : value;

export function needText(value: Value | undefined, what: string): Text {
  if (value instanceof Text) return value;
  if (value instanceof Undefined) return value.fail();
  throw new TemplateFailure(
    `${what} must be a string; got ${value === undefined ? 'nothing' : typeName(value)}`,
  );
}

/** A string of whatever value, its characters read. */
export function asText({ budget }: Context, value: Value): Text {
  budget.step();
  const whole = toText(value, budget);
  budget.read(whole.length);
  return whole;
}

/** Counts a string that has been made. */
export function madeText({ budget }: Context, made: Text): Text {
  budget.characters(made.length);
  return made;
}

/** Counts a list that has been made. */
export function madeList<T extends Value>({ budget }: Context, made: readonly T[]): readonly T[] {
  budget.elements(made.length);
  return made;
}

export const NO_ARGUMENTS: Arguments = { positional: [], keyword: new Map() };
