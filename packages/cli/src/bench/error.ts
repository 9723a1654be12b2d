/** No figures: the output is wrong, or the measured work differs from the requested work. */
export class BenchError extends Error {
  override readonly name = 'BenchError';

  constructor(
    readonly code: 'WRONG_OUTPUT' | 'WRONG_WORK',
    message: string,
  ) {
    super(message);
  }
}
