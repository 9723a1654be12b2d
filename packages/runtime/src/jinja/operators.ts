import type { Budget } from './budget.js';
import { TemplateFailure } from './error.js';
import type { BinaryOperator } from './nodes.js';
import { arithmetic } from './number.js';
import { printf } from './printf.js';
import { concat, Text } from './text.js';
import { repeat } from './text-operations.js';
import type { Context } from './value.js';
import { computed, isList, isNumber, Tuple, typeName, Undefined, type Value } from './value.js';

/** `left operator right` */
export function binary(context: Context, operator: BinaryOperator, first: Value, second: Value): Value {
  const [left, right] = [
    computed(first),
    operator === '%' && first instanceof Text ? second : computed(second),
  ];
  if (isNumber(left) && isNumber(right)) return arithmetic(operator, left, right);
  if (left instanceof Text && operator === '%') return printf(context, left, right);
  if (left instanceof Undefined) return left.fail();
  if (right instanceof Undefined) return right.fail();
  const made =
    operator === '+'
      ? added(left, right, context.budget)
      : operator === '*'
        ? times(context, left, right)
        : undefined;
  if (made !== undefined) return made;
  throw new TemplateFailure(
    `unsupported operand types for ${operator}: '${typeName(left)}' and '${typeName(right)}'`,
  );
}

function added(left: Value, right: Value, budget: Budget): Value | undefined {
  if (left instanceof Text && right instanceof Text) return concatenated(left, right, budget);
  if (isList(left) && isList(right)) return both(left, right, budget);
  if (left instanceof Tuple && right instanceof Tuple)
    return new Tuple(both(left.items, right.items, budget));
  return undefined;
}

function both(left: readonly Value[], right: readonly Value[], budget: Budget): readonly Value[] {
  budget.elements(left.length + right.length);
  return [...left, ...right];
}

/** Concatenates two strings. */
export function concatenated(left: Text, right: Text, budget: Budget): Text {
  budget.concat(left.length, right.length);
  budget.step((left.typed.length + right.typed.length) / 8);
  return concat(left, right);
}

function times(context: Context, left: Value, right: Value): Value | undefined {
  const [repeated, count] = isNumber(left) ? [right, left] : [left, right];
  if (typeof count !== 'bigint' && typeof count !== 'boolean') return undefined;
  const most = Math.max(0, Number(count));
  if (repeated instanceof Text) return repeat(context, repeated, most);
  if (isList(repeated)) return repeatList(repeated, most, context.budget);
  return repeated instanceof Tuple ? new Tuple(repeatList(repeated.items, most, context.budget)) : undefined;
}

function repeatList(items: readonly Value[], count: number, budget: Budget): readonly Value[] {
  budget.elements(items.length * count);
  return items.length === 0
    ? []
    : Array.from({ length: items.length * count }, (_, i) => items[i % items.length]!);
}
