import { isFilterName, isTestName } from './builtins.js';
import type { BinaryOperator, CallArguments, CompareOperator, Expression, FilterNode } from './nodes.js';
import { parseCallArguments } from './parse-arguments.js';
import type { TokenReader } from './token-reader.js';
import { text, type Value } from './value.js';

const CONSTANTS: ReadonlyMap<string, Value> = new Map([
  ['true', true],
  ['True', true],
  ['false', false],
  ['False', false],
  ['none', null],
  ['None', null],
]);
const NO_ARGUMENTS: CallArguments = { positional: [], keyword: [] };

/** An expression. `condition` false: without `… if …`, which has its own meaning in `for`. */
export const parseExpression = (reader: TokenReader, condition = true): Expression =>
  reader.nested(() => (condition ? parseCondition(reader) : parseOr(reader)));

/** One expression, or several with commas as a tuple. */
export function parseTuple(reader: TokenReader, condition = true, endName?: string): Expression {
  const items: Expression[] = [];
  let isTuple = false;
  for (;;) {
    if (endsTuple(reader, endName)) break;
    items.push(parseExpression(reader, condition));
    if (!reader.skip('operator', ',')) break;
    isTuple = true;
  }
  if (items.length === 0) reader.fail(`expected an expression, found ${reader.found()}`);
  return isTuple ? { kind: 'tuple', items } : items[0]!;
}

const endsTuple = (reader: TokenReader, endName: string | undefined): boolean =>
  reader.is('close') ||
  reader.is('end') ||
  reader.isOperator(')') ||
  (endName !== undefined && reader.isName(endName));

function parseCondition(reader: TokenReader): Expression {
  let value = parseOr(reader);
  while (reader.skip('name', 'if')) {
    const test = parseOr(reader);
    const whenFalse = reader.skip('name', 'else') ? parseExpression(reader) : undefined;
    value = { kind: 'condition', test, whenTrue: value, whenFalse };
  }
  return value;
}

function parseOr(reader: TokenReader): Expression {
  let left = parseAnd(reader);
  while (reader.skip('name', 'or')) left = { kind: 'or', left, right: parseAnd(reader) };
  return left;
}

function parseAnd(reader: TokenReader): Expression {
  let left = parseNot(reader);
  while (reader.skip('name', 'and')) left = { kind: 'and', left, right: parseNot(reader) };
  return left;
}

function parseNot(reader: TokenReader): Expression {
  if (!reader.isName('not') || (reader.next.kind === 'name' && reader.next.text === 'in'))
    return parseCompare(reader);
  reader.advance();
  return { kind: 'not', value: reader.nested(() => parseNot(reader)) };
}

function parseCompare(reader: TokenReader): Expression {
  const first = parseSum(reader);
  const rest: [CompareOperator, Expression][] = [];
  for (let operator = compareOperator(reader); operator; operator = compareOperator(reader))
    rest.push([operator, parseSum(reader)]);
  return rest.length > 0 ? { kind: 'compare', first, rest } : first;
}

function compareOperator(reader: TokenReader): CompareOperator | undefined {
  if (reader.isOperator('==', '!=', '<', '<=', '>', '>=')) return reader.advance().text as CompareOperator;
  if (reader.skip('name', 'in')) return 'in';
  if (!reader.isName('not') || reader.next.text !== 'in' || reader.next.kind !== 'name') return undefined;
  reader.advance();
  reader.advance();
  return 'not in';
}

const leftToRight =
  (operators: readonly BinaryOperator[], operand: (reader: TokenReader) => Expression) =>
  (reader: TokenReader): Expression => {
    let left = operand(reader);
    while (reader.isOperator(...operators)) {
      const operator = reader.advance().text as BinaryOperator;
      left = { kind: 'binary', operator, left, right: operand(reader) };
    }
    return left;
  };

const parseSum = leftToRight(['+', '-'], parseConcat);
const parseProduct = leftToRight(['*', '/', '//', '%'], (reader) => parsePower(reader));
const parsePower = leftToRight(['**'], (reader) => parseUnary(reader, true));

function parseConcat(reader: TokenReader): Expression {
  const items = [parseProduct(reader)];
  while (reader.skip('operator', '~')) items.push(parseProduct(reader));
  return items.length > 1 ? { kind: 'concat', items } : items[0]!;
}

/**
 * Precedence: a sign binds weaker than fields (`-x.y` is −(x.y)) but stronger than filters and tests (`-x|f` is
 * (−x)|f).
 */
function parseUnary(reader: TokenReader, withFilters: boolean): Expression {
  const sign = reader.isOperator('-', '+') ? reader.advance().text : undefined;
  const value: Expression = sign
    ? { kind: sign === '-' ? 'negate' : 'plus', value: reader.nested(() => parseUnary(reader, false)) }
    : parsePrimary(reader);
  const whole = parsePostfix(reader, value);
  return withFilters ? parseFilters(reader, whole) : whole;
}

function parsePrimary(reader: TokenReader): Expression {
  const { kind, text: spelling } = reader.current;
  if (kind === 'name') return nameOrConstant(reader.advance().text);
  if (kind === 'string') return parseStrings(reader);
  if (kind === 'int' || kind === 'float') {
    reader.advance();
    const digits = spelling.replaceAll('_', '');
    return { kind: 'constant', value: kind === 'int' ? BigInt(digits) : Number(digits) };
  }
  if (reader.skip('operator', '(')) return parseParenthesised(reader);
  if (reader.skip('operator', '[')) return { kind: 'list', items: parseItems(reader, ']') };
  if (reader.skip('operator', '{')) return parseDict(reader);
  return reader.fail(`expected an expression, found ${reader.found()}`);
}

function nameOrConstant(name: string): Expression {
  const value = CONSTANTS.get(name);
  return value === undefined ? { kind: 'name', name } : { kind: 'constant', value };
}

function parseStrings(reader: TokenReader): Expression {
  let value = '';
  while (reader.is('string')) value += reader.advance().text;
  return { kind: 'constant', value: text(value) };
}

function parseParenthesised(reader: TokenReader): Expression {
  if (reader.skip('operator', ')')) return { kind: 'tuple', items: [] };
  const value = parseTuple(reader);
  reader.expect('operator', ')');
  return value;
}

function parseItems(reader: TokenReader, end: string): Expression[] {
  const items: Expression[] = [];
  while (!reader.skip('operator', end)) {
    if (items.length > 0) reader.expect('operator', ',');
    if (reader.skip('operator', end)) break;
    items.push(parseExpression(reader));
  }
  return items;
}

function parseDict(reader: TokenReader): Expression {
  const pairs: [Expression, Expression][] = [];
  while (!reader.skip('operator', '}')) {
    if (pairs.length > 0) reader.expect('operator', ',');
    if (reader.skip('operator', '}')) break;
    const key = parseExpression(reader);
    reader.expect('operator', ':');
    pairs.push([key, parseExpression(reader)]);
  }
  return { kind: 'dict', pairs };
}

function parsePostfix(reader: TokenReader, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (reader.skip('operator', '.')) value = parseField(reader, value);
    else if (reader.skip('operator', '[')) value = parseSubscript(reader, value);
    else if (reader.isOperator('('))
      value = { kind: 'call', callee: value, args: parseCallArguments(reader, parseExpression) };
    else return value;
  }
}

function parseField(reader: TokenReader, object: Expression): Expression {
  if (reader.is('int'))
    return { kind: 'item', object, index: { kind: 'constant', value: BigInt(reader.advance().text) } };
  return { kind: 'attribute', object, name: reader.expect('name').text };
}

function parseSubscript(reader: TokenReader, object: Expression): Expression {
  const start = reader.isOperator(':') ? undefined : parseExpression(reader);
  if (!reader.isOperator(':')) return parseIndex(reader, object, start!);
  const bounds = [reader.skip('operator', ':') ? sliceBound(reader) : undefined];
  if (reader.skip('operator', ':')) bounds.push(sliceBound(reader));
  reader.expect('operator', ']');
  return { kind: 'slice', object, start, stop: bounds[0], step: bounds[1] };
}

const sliceBound = (reader: TokenReader): Expression | undefined =>
  reader.isOperator(':', ']') ? undefined : parseExpression(reader);

function parseIndex(reader: TokenReader, object: Expression, first: Expression): Expression {
  const items = [first];
  while (reader.skip('operator', ',')) if (!reader.isOperator(']')) items.push(parseExpression(reader));
  reader.expect('operator', ']');
  return { kind: 'item', object, index: items.length > 1 ? { kind: 'tuple', items } : first };
}

function parseFilters(reader: TokenReader, start: Expression): Expression {
  let value = start;
  for (;;) {
    if (reader.isOperator('|')) value = parseFilter(reader, value);
    else if (reader.skip('name', 'is')) value = parseTest(reader, value);
    else if (reader.isOperator('('))
      value = { kind: 'call', callee: value, args: parseCallArguments(reader, parseExpression) };
    else return value;
  }
}

/** `|name(…)`, applied to `input`. */
function parseFilter(reader: TokenReader, input: Expression | undefined): FilterNode {
  reader.expect('operator', '|');
  return parseFilterName(reader, input);
}

function parseFilterName(reader: TokenReader, input: Expression | undefined): FilterNode {
  const name = reader.expect('name').text;
  if (!isFilterName(name)) reader.fail(`there is no filter "${name}"`);
  const args = reader.isOperator('(') ? parseCallArguments(reader, parseExpression) : NO_ARGUMENTS;
  return { kind: 'filter', input, name, args };
}

/** The filters of `{% filter a|b %}` and `{% set x|a|b %}`; their input is the block's content. */
export function parseBlockFilters(reader: TokenReader, named: boolean): FilterNode {
  let filter = named ? parseFilterName(reader, undefined) : parseFilter(reader, undefined);
  while (reader.isOperator('|')) filter = parseFilter(reader, filter);
  return filter;
}

function parseTest(reader: TokenReader, input: Expression): Expression {
  const negated = reader.skip('name', 'not');
  const name = reader.expect('name').text;
  if (!isTestName(name)) reader.fail(`there is no test "${name}"`);
  const test: Expression = { kind: 'test', input, name, args: parseTestArguments(reader) };
  return negated ? { kind: 'not', value: test } : test;
}

/** Arguments in parentheses, or a single value without: `x is divisibleby 3`. */
function parseTestArguments(reader: TokenReader): CallArguments {
  if (reader.isOperator('(')) return parseCallArguments(reader, parseExpression);
  if (reader.isName('is')) reader.fail('tests cannot follow each other: join them with "and"');
  const { kind } = reader.current;
  const begins = kind === 'string' || kind === 'int' || kind === 'float' || reader.isOperator('[', '{');
  const isArgument = kind === 'name' && !reader.isName('else', 'or', 'and', 'if', 'not', 'in', 'recursive');
  if (!begins && !isArgument) return NO_ARGUMENTS;
  return { positional: [parsePostfix(reader, parsePrimary(reader))], keyword: [] };
}
