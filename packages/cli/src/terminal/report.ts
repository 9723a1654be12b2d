/** Everything that is not the answer goes to stderr. */
export const say = (text: string): void => {
  process.stderr.write(`${text}\n`);
};

const isCoded = (error: unknown): error is Error & { code: string } =>
  error instanceof Error && 'code' in error && typeof error.code === 'string';

/** An error as one clear message; the stack only for what nobody foresaw. */
export function report(error: unknown): void {
  if (isCoded(error)) say(`quern: ${error.message} (${error.code})`);
  else say(`quern: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`);
  process.exitCode = 1;
}
