import { text } from 'node:stream/consumers';

/** All of standard input without the line break at its end, as `echo` adds one; undefined where it is a terminal. */
export async function readStdin(): Promise<string | undefined> {
  return process.stdin.isTTY ? undefined : (await text(process.stdin)).replace(/\r?\n$/, '');
}

/** The lines of standard input; undefined where it is a terminal. */
export async function readLines(): Promise<readonly string[] | undefined> {
  const input = await readStdin();
  return input === undefined || input === '' ? undefined : input.split(/\r?\n/);
}
