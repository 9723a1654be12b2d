import { text } from 'node:stream/consumers';

/** Without the line break at the end, as `echo` and editors add one. */
export const withoutLineEnd = (content: string): string => content.replace(/\r?\n$/, '');

/** All of standard input without the line break at its end; undefined where it is a terminal. */
export async function readStdin(): Promise<string | undefined> {
  return process.stdin.isTTY ? undefined : withoutLineEnd(await text(process.stdin));
}

/** The lines of standard input; undefined where it is a terminal. */
export async function readLines(): Promise<readonly string[] | undefined> {
  const input = await readStdin();
  return input === undefined || input === '' ? undefined : input.split(/\r?\n/);
}
