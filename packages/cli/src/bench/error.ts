/** Why there are no figures: the output is wrong, other work was done than was asked for, or an option has no meaning. */
export class BenchError extends Error {
  override readonly name = 'BenchError';

  constructor(
    readonly code: 'WRONG_OUTPUT' | 'WRONG_WORK' | 'BAD_OPTION',
    message: string,
  ) {
    super(message);
  }
}
