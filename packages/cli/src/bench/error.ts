/** No figures: the output is wrong, the measured work differs from the requested work, no request succeeded, or an option has no meaning. */
export class BenchError extends Error {
  override readonly name = 'BenchError';

  constructor(
    readonly code: 'WRONG_OUTPUT' | 'WRONG_WORK' | 'NO_ANSWER' | 'BAD_OPTION',
    message: string,
  ) {
    super(message);
  }
}
