import { BackendError, type Precision, precisions, rules, showValue } from '@quern/core';

const known = rules.oneOf(precisions);

/** The option `precision` of a backend; throws BAD_ARGUMENT for an unknown one. Default 'standard'. */
export function checkedPrecision(precision: Precision = 'standard'): Precision {
  if (known.holds(precision)) return precision;
  throw new BackendError('BAD_ARGUMENT', `precision must be ${known.must}; got ${showValue(precision)}`);
}
