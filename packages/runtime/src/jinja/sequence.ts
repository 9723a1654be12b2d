import type { Budget } from './budget.js';
import { TemplateFailure } from './error.js';
import { toIndex } from './number.js';
import { characterCount, characters, join, offsetOf, Text } from './text.js';
import { Dict, isList, Range, Tuple, typeName, Undefined, type Value } from './value.js';

/** The elements of a loop over a value. @throws TemplateFailure for a value without elements */
export function elements(value: Value, budget: Budget): readonly Value[] {
  if (isList(value)) return value;
  if (value instanceof Tuple) return value.items;
  if (value instanceof Undefined) return [];
  if (value instanceof Dict) return made(value.size, budget, () => value.pairs().map(([key]) => key));
  if (value instanceof Range)
    return made(value.length, budget, () => Array.from({ length: value.length }, (_, i) => value.at(i)));
  if (value instanceof Text) return made(value.length, budget, () => characters(value));
  throw new TemplateFailure(`'${typeName(value)}' object is not iterable`);
}

function made(length: number, budget: Budget, make: () => readonly Value[]): readonly Value[] {
  budget.elements(length);
  budget.step(length / 2);
  return make();
}

export const isSequence = (value: Value): value is Text | readonly Value[] | Tuple | Range =>
  value instanceof Text || isList(value) || value instanceof Tuple || value instanceof Range;

export const isIterable = (value: Value): boolean =>
  isSequence(value) || value instanceof Dict || value instanceof Undefined;

/** Python's len(). */
export function length(value: Value, budget: Budget): number {
  if (value instanceof Text) {
    budget.read(value.length);
    return characterCount(value);
  }
  if (isList(value) || value instanceof Range) return value.length;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Undefined) return 0;
  throw new TemplateFailure(`object of type '${typeName(value)}' has no len()`);
}

/** Element `index`, from the end for a negative index; undefined where there is none. */
export function elementAt(
  value: Text | readonly Value[] | Tuple | Range,
  index: bigint | boolean,
  budget: Budget,
): Value | undefined {
  const count = length(value, budget);
  const at = Number(index) < 0 ? count + Number(index) : Number(index);
  if (at < 0 || at >= count) return undefined;
  if (value instanceof Text) return value.slice(offsetOf(value, at), offsetOf(value, at + 1));
  if (value instanceof Range) return value.at(at);
  return (value instanceof Tuple ? value.items : value)[at];
}

/** Python's value[start:stop:step]. */
export function slice(
  value: Value,
  start: Value | undefined,
  stop: Value | undefined,
  step: Value | undefined,
  budget: Budget,
): Value {
  if (value instanceof Undefined) return value.fail();
  if (!isSequence(value)) throw new TemplateFailure(`'${typeName(value)}' object cannot be sliced`);
  const by = bound(step) ?? 1;
  if (by === 0) throw new TemplateFailure('slice step cannot be zero');
  const count = length(value, budget);
  const from = clip(bound(start), by > 0 ? 0 : count - 1, count, by);
  const to = clip(bound(stop), by > 0 ? count : -1, count, by);
  if (value instanceof Text && by === 1) return sliceText(value, from, Math.max(from, to), budget);
  const size = Math.max(0, Math.ceil((to - from) / by));
  const items = elements(value, budget);
  budget.elements(size);
  const taken = Array.from({ length: size }, (_, i) => items[from + i * by]!);
  if (value instanceof Text) return join(taken.filter((item) => item instanceof Text));
  return value instanceof Tuple ? new Tuple(taken) : taken;
}

const bound = (value: Value | undefined): number | undefined =>
  value === undefined || value === null ? undefined : toIndex(value, 'a slice bound');

function clip(value: number | undefined, missing: number, count: number, step: number): number {
  if (value === undefined) return missing;
  const at = value < 0 ? value + count : value;
  return step > 0 ? Math.min(Math.max(at, 0), count) : Math.min(Math.max(at, -1), count - 1);
}

function sliceText(value: Text, from: number, to: number, budget: Budget): Text {
  const part = value.slice(offsetOf(value, from), offsetOf(value, to));
  budget.characters(part.length);
  return part;
}
