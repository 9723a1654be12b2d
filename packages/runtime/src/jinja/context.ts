import type { Budget } from './budget.js';
import type { Arguments, Value } from './value.js';

/** What filters, tests, methods and functions need of the template that calls them. */
export interface Context {
  readonly budget: Budget;
  /** What `strftime_now` tells. */
  readonly now: Date;
  call(callee: Value, args: Arguments): Value;
  filter(name: string, input: Value, args: Arguments): Value;
  test(name: string, input: Value, args: Arguments): boolean;
}
