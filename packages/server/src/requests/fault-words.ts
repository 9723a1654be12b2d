import { showValue } from '@quern/core';
import type * as z from 'zod';

type Issue = z.core.$ZodRawIssue;

const typeWords: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};

/** What a size counts, by the kind of value. */
const units: Readonly<Record<string, string>> = { string: 'character', array: 'item', set: 'item' };

const quoted = (value: unknown): string => (typeof value === 'string' ? `'${value}'` : String(value));

const listed = (values: readonly unknown[]): string =>
  values.length === 1 ? quoted(values[0]) : `one of ${values.map(quoted).join(', ')}`;

/** 'at least 1 item' of a list; '0 or more' of a number. */
function bounded(origin: string, bound: number | bigint, side: 'least' | 'most', inclusive: boolean): string {
  const unit = units[origin];
  if (unit !== undefined) return `have at ${side} ${bound} ${unit}${Number(bound) === 1 ? '' : 's'}`;
  if (!inclusive) return `be ${side === 'least' ? 'above' : 'below'} ${bound}`;
  return `be ${bound} or ${side === 'least' ? 'more' : 'less'}`;
}

/** The types or values that the alternatives of a union take, as far as they are no more than that; undefined: none is. */
function alternatives(errors: readonly (readonly z.core.$ZodIssue[])[]): string | undefined {
  const each = errors.map(([first]) => {
    if (first?.code === 'invalid_type' && first.path.length === 0) return typeWords[first.expected];
    return first?.code === 'invalid_value' && first.path.length === 0 ? listed(first.values) : undefined;
  });
  const known = [...new Set(each)].filter((words) => words !== undefined);
  return known.length > 0 ? known.join(' or ') : undefined;
}

/** What the value must be or have. */
function rule(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return `be ${typeWords[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `be ${listed(issue.values)}`;
    case 'too_small':
      return bounded(issue.origin, issue.minimum, 'least', issue.inclusive ?? true);
    case 'too_big':
      return bounded(issue.origin, issue.maximum, 'most', issue.inclusive ?? true);
    case 'invalid_union':
      return `be ${Array.isArray(issue.options) ? listed(issue.options) : (alternatives(issue.errors) ?? 'another value')}`;
    default:
      return 'be another value';
  }
}

/** The value at fault: of a union by a field, that field. */
const faultyValue = ({ code, input, discriminator }: Issue): unknown =>
  code === 'invalid_union' && typeof discriminator === 'string'
    ? (input as Readonly<Record<string, unknown>>)[discriminator]
    : input;

/**
 * The words of a fault in a request where the schema has none: what the field must be, and what it is. Of a list or an
 * object whose size is wrong, the value is left out.
 */
export function faultWords(issue: Issue): string {
  const value = faultyValue(issue);
  if (value === undefined) return `missing; it must ${rule(issue)}`;
  const got = Array.isArray(value) ? 'a list' : showValue(value);
  const sized = typeof issue.origin === 'string' && Object.hasOwn(units, issue.origin);
  return `must ${rule(issue)}${sized ? '' : `; got ${got}`}`;
}
