import { type AnySchema, checkArgument, checkOptions, type Rule, rules } from '@quern/core';
import { badArgument } from '../error.js';
import { syntheticFormats } from './formats.js';

/** A key of `table`. */
export const nameIn = <T extends object>(table: T): Rule<keyof T & string> => ({
  must: `one of ${Object.keys(table).join(', ')}`,
  holds: (value): value is keyof T & string => typeof value === 'string' && Object.hasOwn(table, value),
});

/** Options of all synthetic models. */
export const sharedSchema = {
  format: { ...nameIn(syntheticFormats), about: 'format of the weights', required: true },
  seed: { ...rules.whole(0), about: 'the same seed gives the same file, byte for byte', byDefault: 1 },
  signal: { ...rules.signal, about: 'ends the call, which rejects with ABORTED', absent: 'none' },
} as const;

/** @throws ModelError BAD_ARGUMENT */
export function checkSynthetic(where: string, path: unknown, options: unknown, schema: AnySchema): void {
  checkArgument(where, 'path', path, rules.path, badArgument);
  checkOptions(where, options, schema, badArgument);
}
