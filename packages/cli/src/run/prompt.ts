import type { Command } from 'commander';
import { readText } from '../read-text.js';
import { readStdin, withoutLineEnd } from '../terminal/stdin.js';

/** As parsed by commander. */
export interface PromptFlags {
  readonly prompt?: string;
  readonly file?: string;
}

export const withPrompt = (command: Command): Command =>
  command
    .option('-p, --prompt <text>', 'the prompt, as the argument')
    .option('-f, --file <path>', 'a file with the prompt; a final line break is dropped');

const noPrompt =
  'error: there is no prompt: give one with -p <text>, as an argument, with -f <file>, or pipe it into standard input (nothing piped is no prompt)';

/** The prompt from the argument, -p, -f or standard input. Ends the program if none or several are given; empty input is none. */
export async function readPrompt(
  argument: string | undefined,
  { prompt, file }: PromptFlags,
  command: Command,
): Promise<string> {
  const given = [
    ...(argument === undefined ? [] : ['as an argument']),
    ...(prompt === undefined ? [] : ['with -p']),
    ...(file === undefined ? [] : ['with -f']),
  ];
  if (given.length > 1) command.error(`error: the prompt is given ${given.join(' and ')}: give it once`);
  if (file !== undefined) return withoutLineEnd(await readText(file));
  const text = argument ?? prompt ?? ((await readStdin()) || undefined);
  return text ?? command.error(noPrompt);
}
