import { compare, contains, equals } from './compare.js';
import { type Builtin, define, needText, or } from './define.js';
import { TemplateFailure } from './error.js';
import type { CompareOperator } from './nodes.js';
import { arithmetic } from './number.js';
import { isIterable, isSequence } from './sequence.js';
import { Text } from './text.js';
import { Callable, computed, Dict, isNumber, Undefined, type Value } from './value.js';

type Test = Builtin<boolean>;

const plain = (holds: (value: Value) => boolean): Test => define('', (_, input: Value) => holds(input));

const comparing = (operator: CompareOperator): Test =>
  define('other', ({ budget }, input: Value, other) => compare(operator, input, or(other, null), budget));

const rest = (given: Value, by: bigint): boolean => {
  const value = computed(given);
  if (!isNumber(value)) throw new TemplateFailure('this test needs a number');
  return Number(arithmetic('%', value, by)) !== 0;
};

const cased = (to: 'toLowerCase' | 'toUpperCase'): Test =>
  plain((value) => {
    if (!(value instanceof Text)) return false;
    return value.value === value.value[to]() && value.value.toLowerCase() !== value.value.toUpperCase();
  });

const same = (a: Value, b: Value): boolean =>
  a === b || (a instanceof Text && b instanceof Text && a.value === b.value);

const eq = comparing('==');
const ne = comparing('!=');
const lt = comparing('<');
const le = comparing('<=');
const gt = comparing('>');
const ge = comparing('>=');

/** The tests of `is`. Tests for names of filters and tests are in builtins.ts. */
export const tests = {
  boolean: plain((value) => typeof value === 'boolean'),
  callable: plain((value) => value instanceof Callable),
  defined: plain((value) => !(value instanceof Undefined)),
  divisibleby: define('num', (_, input: Value, by) => {
    if (typeof by !== 'bigint') throw new TemplateFailure('divisibleby needs a whole number');
    return !rest(input, by);
  }),
  eq,
  equalto: eq,
  '==': eq,
  escaped: plain(() => false),
  even: plain((value) => !rest(value, 2n)),
  false: plain((value) => value === false),
  float: plain((value) => typeof computed(value) === 'number'),
  ge,
  '>=': ge,
  greaterthan: gt,
  gt,
  '>': gt,
  in: define('seq', ({ budget }, input: Value, container) => contains(or(container, null), input, budget)),
  integer: plain((value) => typeof value === 'bigint'),
  iterable: plain(isIterable),
  le,
  '<=': le,
  lessthan: lt,
  lower: cased('toLowerCase'),
  lt,
  '<': lt,
  mapping: plain((value) => value instanceof Dict),
  ne,
  '!=': ne,
  none: plain((value) => value === null),
  number: plain((value) => isNumber(computed(value))),
  odd: plain((value) => rest(value, 2n)),
  sameas: define('other', ({ budget }, input: Value, other) => {
    const to = or(other, null);
    return (
      same(input, to) || (typeof input === 'bigint' && typeof to === 'bigint' && equals(input, to, budget))
    );
  }),
  sequence: plain((value) => isSequence(value) || value instanceof Dict || value instanceof Undefined),
  string: plain((value) => value instanceof Text),
  true: plain((value) => value === true),
  undefined: plain((value) => value instanceof Undefined),
  upper: cased('toUpperCase'),
} as const satisfies Readonly<Record<string, Test>>;

/** Tests whether the input is the name of a filter (or test). `known` decides. */
export const nameTest = (known: (name: string) => boolean): Test =>
  define('', (_, input: Value) => known(needText(input, 'the name').value));
