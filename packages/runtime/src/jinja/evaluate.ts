import { attribute, item } from './attributes.js';
import { compare } from './compare.js';
import { TemplateFailure } from './error.js';
import type { CallArguments, Expression, FilterNode } from './nodes.js';
import { arithmetic } from './number.js';
import { binary, concatenated } from './operators.js';
import { toText } from './print.js';
import type { Scope } from './scope.js';
import { elements, slice } from './sequence.js';
import { EMPTY, Text } from './text.js';
import type { Context } from './value.js';
import {
  type Arguments,
  computed,
  Dict,
  found,
  isNumber,
  Tuple,
  truth,
  typeName,
  Undefined,
  type Value,
} from './value.js';

/** The value of an expression. */
export function evaluate(context: Context, scope: Scope, node: Expression): Value {
  const { budget } = context;
  budget.step();
  budget.enter();
  const value = EVALUATORS[node.kind](context, scope, node as never);
  budget.leave();
  return value;
}

type Node<K extends Expression['kind']> = Extract<Expression, { readonly kind: K }>;

type Evaluators = {
  readonly [K in Expression['kind']]: (context: Context, scope: Scope, node: Node<K>) => Value;
};

const all = (context: Context, scope: Scope, nodes: readonly Expression[]): Value[] => {
  context.budget.elements(nodes.length);
  return nodes.map((node) => evaluate(context, scope, node));
};

const EVALUATORS: Evaluators = {
  constant: (_, __, node) => node.value,
  name: (_, scope, { name }) => found(scope.get(name), () => new Undefined(`'${name}' is undefined`)),
  list: (context, scope, { items }) => all(context, scope, items),
  tuple: (context, scope, { items }) => new Tuple(all(context, scope, items)),
  concat: (context, scope, { items }) =>
    items.reduce(
      (joined, part) =>
        concatenated(joined, toText(evaluate(context, scope, part), context.budget), context.budget),
      EMPTY,
    ),
  dict: evaluateDict,
  attribute: (context, scope, { object, name }) => attribute(context, evaluate(context, scope, object), name),
  item: (context, scope, { object, index }) =>
    item(context, evaluate(context, scope, object), evaluate(context, scope, index)),
  slice: (context, scope, { object, start, stop, step }) => {
    const value = evaluate(context, scope, object);
    const [from, to, by] = [start, stop, step].map((bound) => bound && evaluate(context, scope, bound));
    return slice(value, from, to, by, context.budget);
  },
  call: (context, scope, { callee, args }) =>
    context.call(evaluate(context, scope, callee), evaluateArguments(context, scope, args)),
  filter: (context, scope, node) => applyFilters(context, scope, node, EMPTY),
  test: (context, scope, { input, name, args }) =>
    context.test(name, evaluate(context, scope, input), evaluateArguments(context, scope, args)),
  compare: evaluateCompare,
  binary: (context, scope, { operator, left, right }) =>
    binary(context, operator, evaluate(context, scope, left), evaluate(context, scope, right)),
  and: (context, scope, { left, right }) => {
    const value = evaluate(context, scope, left);
    return truth(value) ? evaluate(context, scope, right) : value;
  },
  or: (context, scope, { left, right }) => {
    const value = evaluate(context, scope, left);
    return truth(value) ? value : evaluate(context, scope, right);
  },
  not: (context, scope, { value }) => !truth(evaluate(context, scope, value)),
  negate: (context, scope, { value }) => signed(evaluate(context, scope, value), -1n),
  plus: (context, scope, { value }) => signed(evaluate(context, scope, value), 1n),
  condition: (context, scope, { test, whenTrue, whenFalse }) => {
    if (truth(evaluate(context, scope, test))) return evaluate(context, scope, whenTrue);
    if (whenFalse) return evaluate(context, scope, whenFalse);
    return new Undefined('the inline if-expression was false, and no else was given');
  },
};

/**
 * Applies a filter and the filters in its input. `block`: the innermost filter's input, where it has none of its own.
 */
export function applyFilters(context: Context, scope: Scope, node: FilterNode, block: Text): Value {
  const { input, name, args } = node;
  const value = input
    ? input.kind === 'filter'
      ? applyFilters(context, scope, input, block)
      : evaluate(context, scope, input)
    : block;
  return context.filter(name, value, evaluateArguments(context, scope, args));
}

function evaluateDict(context: Context, scope: Scope, { pairs }: Node<'dict'>): Dict {
  context.budget.elements(2 * pairs.length);
  return new Dict(
    pairs.map(([key, value]) => [evaluate(context, scope, key), evaluate(context, scope, value)] as const),
  );
}

/** a < b < c: each operand is evaluated once. */
function evaluateCompare(context: Context, scope: Scope, { first, rest }: Node<'compare'>): boolean {
  let left = evaluate(context, scope, first);
  return rest.every(([operator, node]) => {
    const right = evaluate(context, scope, node);
    const holds = compare(operator, left, right, context.budget);
    left = right;
    return holds;
  });
}

export function evaluateArguments(context: Context, scope: Scope, args: CallArguments): Arguments {
  const positional = args.positional.map((node) => evaluate(context, scope, node));
  const keyword = new Map(
    args.keyword.map(([name, node]) => [name, evaluate(context, scope, node)] as const),
  );
  if (args.spread) {
    const more = elements(evaluate(context, scope, args.spread), context.budget);
    context.budget.elements(more.length);
    for (const value of more) positional.push(value);
  }
  if (args.keywordSpread) spreadKeywords(evaluate(context, scope, args.keywordSpread), keyword);
  return { positional, keyword };
}

function spreadKeywords(value: Value, keyword: Map<string, Value>): void {
  if (!(value instanceof Dict))
    throw new TemplateFailure(`the argument after ** must be a dict, not ${typeName(value)}`);
  for (const [key, each] of value.pairs()) {
    if (!(key instanceof Text)) throw new TemplateFailure('the keys after ** must be strings');
    keyword.set(key.value, each);
  }
}

function signed(value: Value, sign: bigint): Value {
  const number = computed(value);
  if (isNumber(number)) return arithmetic('*', number, sign);
  if (value instanceof Undefined) return value.fail();
  throw new TemplateFailure(`bad operand type for unary ${sign < 0n ? '-' : '+'}: '${typeName(value)}'`);
}
