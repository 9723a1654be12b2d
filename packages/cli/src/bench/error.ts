/** No figures: the output is wrong, the measured work differs from the requested work, or an option has no meaning. */
export class BenchError extends Error {
  override readonly name = 'BenchError';

  constructor(
    readonly code: 'WRONG_OUTPUT' | 'WRONG_WORK' | 'BAD_OPTION',
    message: string,
  ) {
    super(message);
  }
}
