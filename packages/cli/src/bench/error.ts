/** Why there are no figures: the output is wrong, or other work was done than was asked for. */
export class BenchError extends Error {
  override readonly name = 'BenchError';

  constructor(
    readonly code: 'WRONG_OUTPUT' | 'WRONG_WORK',
    message: string,
  ) {
    super(message);
  }
}
