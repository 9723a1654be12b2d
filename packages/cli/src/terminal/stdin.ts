import { text } from 'node:stream/consumers';

/** Removes the final line break, which `echo` and editors add. */
export const withoutLineEnd = (content: string): string => content.replace(/\r?\n$/, '');

/** All of standard input without the final line break; undefined for a terminal. */
export async function readStdin(): Promise<string | undefined> {
  return process.stdin.isTTY ? undefined : withoutLineEnd(await text(process.stdin));
}

/** The lines of standard input; undefined for a terminal. */
export async function readLines(): Promise<readonly string[] | undefined> {
  const input = await readStdin();
  return input === undefined || input === '' ? undefined : input.split(/\r?\n/);
}
