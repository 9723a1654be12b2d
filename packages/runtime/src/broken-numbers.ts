import { type Cooperative, runInTurns } from '@quern/core';
import { RuntimeError } from './error.js';

/** What is said where a model gives no number, the same everywhere. */
export const brokenNumber = (what: string, value: number): string =>
  `${what} is ${value}: the model's weights or its computation are broken`;

/** Where the first NaN or infinity is; -1 where there is none. A tenth of the time of `findIndex`. */
export function indexOfBroken(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value - value !== 0) return i;
  }
  return -1;
}

/**
 * Looks at numbers that a model has computed. `nameOf` says what the one at an index is.
 * @throws RuntimeError of this code where one is NaN or infinite
 */
export function needFinite(
  values: Float32Array,
  code: 'BAD_LOGITS' | 'BAD_EMBEDDING',
  nameOf: (index: number) => string,
): void {
  const index = indexOfBroken(values);
  if (index >= 0) throw new RuntimeError(code, brokenNumber(nameOf(index), values[index]!));
}

/** The same of logits, [V] each, of the tokens from number `first` of a prompt on; the event loop goes on. Rejects with BAD_LOGITS. */
export const needFiniteLogits = (rows: readonly Float32Array[], first: number): Promise<void> =>
  runInTurns(lookAtRows(rows, first));

function* lookAtRows(rows: readonly Float32Array[], first: number): Cooperative<void> {
  for (const [i, row] of rows.entries()) {
    needFinite(row, 'BAD_LOGITS', (id) => `the logit of token ${id} after token ${first + i} of the prompt`);
    yield;
  }
}

/** Looks at rows of softmax, [R, V]: where any logit of a row was NaN or Infinity, all of the row is NaN. @throws RuntimeError BAD_LOGITS */
export function needProbabilities(values: Float32Array, V: number): void {
  for (let at = 0; at < values.length; at += V)
    if (Number.isNaN(values[at]))
      throw new RuntimeError('BAD_LOGITS', brokenNumber('the probability of every next token', values[at]!));
}
