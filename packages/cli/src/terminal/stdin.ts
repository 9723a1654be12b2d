import { text } from 'node:stream/consumers';

/** All of standard input, or undefined where it is a terminal. */
export async function readStdin(): Promise<string | undefined> {
  return process.stdin.isTTY ? undefined : await text(process.stdin);
}
