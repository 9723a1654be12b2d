import type { BackendErrorCode } from '@quern/core';

/** The stable code of an error; undefined without one. */
export const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;

/** Runs `act`, which must throw or reject with one of these codes, and returns its error. Throws otherwise. */
export async function refusal(
  wanted: BackendErrorCode | readonly BackendErrorCode[],
  act: () => unknown,
): Promise<Error> {
  const codes: readonly unknown[] = Array.isArray(wanted) ? wanted : [wanted];
  try {
    await act();
  } catch (error) {
    if (error instanceof Error && codes.includes(codeOf(error))) return error;
    throw new Error(
      `should be refused with ${codes.join(' or ')}; got ${codeOf(error) ?? 'no code'}: ${error}`,
      {
        cause: error,
      },
    );
  }
  throw new Error(`should be refused with ${codes.join(' or ')}; it was accepted`);
}

/** Throws `message` unless `condition`. */
export function ensure(condition: boolean, message: string): void {
  if (!condition) throw new Error(message);
}
