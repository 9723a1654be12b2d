import type { Builtin } from './define.js';
import { TemplateFailure } from './error.js';
import { listFilters } from './filters/list.js';
import { textFilters } from './filters/text.js';
import { valueFilters } from './filters/value.js';
import { nameTest, tests as valueTests } from './tests.js';
import type { Arguments, Context, Value } from './value.js';

const filters: Readonly<Record<string, Builtin>> = { ...textFilters, ...listFilters, ...valueFilters };

const tests: Readonly<Record<string, Builtin<boolean>>> = {
  ...valueTests,
  filter: nameTest((name) => isFilterName(name)),
  test: nameTest((name) => isTestName(name)),
};

export const isFilterName = (name: string): boolean => Object.hasOwn(filters, name);
export const isTestName = (name: string): boolean => Object.hasOwn(tests, name);

export function applyFilter(context: Context, name: string, input: Value, args: Arguments): Value {
  if (!isFilterName(name)) throw new TemplateFailure(`there is no filter "${name}"`);
  return explained(`filter ${name}`, () => filters[name]!(context, input, args));
}

export function applyTest(context: Context, name: string, input: Value, args: Arguments): boolean {
  if (!isTestName(name)) throw new TemplateFailure(`there is no test "${name}"`);
  return explained(`test ${name}`, () => tests[name]!(context, input, args));
}

/** Adds the builtin's name to the message of a failure. */
export function explained<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof TemplateFailure && !error.message.includes(': '))
      throw new TemplateFailure(`${what}: ${error.message}`, { cause: error });
    throw error;
  }
}
