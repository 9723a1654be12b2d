import type { Command } from 'commander';

/** Options of other programs, as commander names them in its errors, and what they are here. */
const known: Readonly<Record<string, string>> = {
  "unknown option '--gpu-layers'": '--split',
  "unknown option '--n-gpu-layers'": '--split',
  "argument 'gl' is invalid": '--split', // -ngl is read as -n gl
  "unknown option '-c'": '--ctx',
  "unknown option '--context'": '--ctx',
  "unknown option '--ctx-size'": '--ctx',
  "unknown option '--n-predict'": '-n',
  "unknown option '--predict'": '-n',
};

/** Adds to a command's errors the option that a user of llama.cpp may mean. */
export const withHints = (command: Command): Command =>
  command.configureOutput({ outputError: (text, write) => write(hinted(command, text)) });

function hinted(command: Command, text: string): string {
  const [, flag] = Object.entries(known).find(([part]) => text.includes(part)) ?? [];
  const isHere = command.options.some(
    ({ long, short }) => flag !== undefined && [long, short].includes(flag),
  );
  if (!isHere) return text;
  const [error, ...rest] = text.split('\n').filter((line) => !line.startsWith('(Did you mean'));
  return [error, `(Did you mean ${flag}?)`, ...rest].join('\n');
}
