import type { Budget } from './budget.js';
import { TemplateFailure } from './error.js';
import type { CompareOperator } from './nodes.js';
import { Text } from './text.js';
import { computed, Dict, isList, isNumber, Range, Tuple, typeName, Undefined, type Value } from './value.js';

/** Python's ==. */
export function equals(left: Value, right: Value, budget: Budget): boolean {
  budget.step();
  const [a, b] = [computed(left), computed(right)];
  if (a === b) return true;
  if (a instanceof Text) return b instanceof Text && equalTexts(a, b, budget);
  // biome-ignore lint/suspicious/noDoubleEquals: 1n == 1 is true, as in Python
  if (isNumber(a)) return isNumber(b) && a == b;
  if (a instanceof Undefined) return b instanceof Undefined;
  if (a instanceof Range) return b instanceof Range && a.length === b.length && a.start === b.start;
  return budget.within(() => equalCollections(a, b, budget));
}

function equalTexts(a: Text, b: Text, budget: Budget): boolean {
  if (a.length !== b.length) return false;
  budget.read(a.length);
  return a.value === b.value;
}

function equalCollections(a: Value, b: Value, budget: Budget): boolean {
  if (isList(a)) return isList(b) && equalItems(a, b, budget);
  if (a instanceof Tuple) return b instanceof Tuple && equalItems(a.items, b.items, budget);
  if (!(a instanceof Dict && b instanceof Dict) || a.size !== b.size) return false;
  return a.pairs().every(([key, value]) => {
    const other = b.get(key);
    return other !== undefined && equals(value, other, budget);
  });
}

const equalItems = (a: readonly Value[], b: readonly Value[], budget: Budget): boolean =>
  a.length === b.length && a.every((item, i) => equals(item, b[i]!, budget));

/** Negative where a comes before b. @throws TemplateFailure for values without an order in Python */
export function order(left: Value, right: Value, budget: Budget): number {
  budget.step();
  const [a, b] = [computed(left), computed(right)];
  if (isNumber(a) && isNumber(b)) return a < b ? -1 : a > b ? 1 : 0;
  if (a instanceof Text && b instanceof Text) return orderTexts(a, b, budget);
  if (isList(a) && isList(b)) return orderItems(a, b, budget);
  if (a instanceof Tuple && b instanceof Tuple) return orderItems(a.items, b.items, budget);
  if (a instanceof Undefined) return a.fail();
  if (b instanceof Undefined) return b.fail();
  throw new TemplateFailure(`${typeName(a)} and ${typeName(b)} have no order`);
}

/** By code points: UTF-16 units would order U+FFFF after U+10000. */
function orderTexts(a: Text, b: Text, budget: Budget): number {
  const most = Math.min(a.length, b.length);
  budget.read(most);
  let at = 0;
  while (at < most && a.value.charCodeAt(at) === b.value.charCodeAt(at)) at++;
  if (at === most) return a.length - b.length;
  return a.value.codePointAt(at)! - b.value.codePointAt(at)!;
}

function orderItems(a: readonly Value[], b: readonly Value[], budget: Budget): number {
  return budget.within(() => {
    const at = a.findIndex((item, i) => i >= b.length || !equals(item, b[i]!, budget));
    return at < 0 || at >= b.length ? a.length - b.length : order(a[at]!, b[at]!, budget);
  });
}

/** Python's in. */
export function contains(container: Value, item: Value, budget: Budget): boolean {
  if (container instanceof Text) {
    if (!(item instanceof Text))
      throw new TemplateFailure(`'in <string>' requires string as left operand, not ${typeName(item)}`);
    budget.read(container.length);
    return container.value.includes(item.value);
  }
  if (container instanceof Dict) return container.get(item) !== undefined;
  if (container instanceof Undefined) return false;
  if (container instanceof Range) return inRange(container, item);
  const items = container instanceof Tuple ? container.items : container;
  if (isList(items)) return items.some((each) => equals(each, item, budget));
  throw new TemplateFailure(`argument of type '${typeName(container)}' is not iterable`);
}

function inRange({ start, step, length }: Range, value: Value): boolean {
  const item = computed(value);
  if (!isNumber(item)) return false;
  const index = (Number(item) - start) / step;
  return Number.isInteger(index) && index >= 0 && index < length;
}

export function compare(operator: CompareOperator, a: Value, b: Value, budget: Budget): boolean {
  switch (operator) {
    case '==':
      return equals(a, b, budget);
    case '!=':
      return !equals(a, b, budget);
    case 'in':
      return contains(b, a, budget);
    case 'not in':
      return !contains(b, a, budget);
    case '<':
      return order(a, b, budget) < 0;
    case '<=':
      return order(a, b, budget) <= 0;
    case '>':
      return order(a, b, budget) > 0;
    case '>=':
      return order(a, b, budget) >= 0;
  }
}
