import { type Cooperative, runInTurns } from '@quern/core';
import { RuntimeError } from './error.js';

/** The message for a number that is NaN or infinite. */
export const brokenNumber = (what: string, value: number): string =>
  `${what} is ${value}: the model's weights or its computation are broken`;

/** Index of the first NaN or infinity; -1 for none. Takes a tenth of the time of `findIndex`. */
export function indexOfBroken(values: Float32Array): number {
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (value - value !== 0) return i;
  }
  return -1;
}

/**
 * Checks numbers computed by a model. `nameOf(i)`: name of the number at index i.
 * @throws RuntimeError of `code` where a number is NaN or infinite
 */
export function needFinite(
  values: Float32Array,
  code: 'BAD_LOGITS' | 'BAD_EMBEDDING',
  nameOf: (index: number) => string,
): void {
  const index = indexOfBroken(values);
  if (index >= 0) throw new RuntimeError(code, brokenNumber(nameOf(index), values[index]!));
}

/**
 * Checks logits, [V] per token; `first`: the first token's index in the prompt. Yields to the event loop. Rejects with
 * BAD_LOGITS.
 */
export const needFiniteLogits = (rows: readonly Float32Array[], first: number): Promise<void> =>
  runInTurns(lookAtRows(rows, first));

function* lookAtRows(rows: readonly Float32Array[], first: number): Cooperative<void> {
  for (const [i, row] of rows.entries()) {
    needFinite(row, 'BAD_LOGITS', (id) => `the logit of token ${id} after token ${first + i} of the prompt`);
    yield;
  }
}

/** Checks rows of softmax, [R, V]: a NaN or Infinity logit makes its whole row NaN. @throws RuntimeError BAD_LOGITS */
export function needProbabilities(values: Float32Array, V: number): void {
  for (let at = 0; at < values.length; at += V)
    if (Number.isNaN(values[at]))
      throw new RuntimeError('BAD_LOGITS', brokenNumber('the probability of every next token', values[at]!));
}
