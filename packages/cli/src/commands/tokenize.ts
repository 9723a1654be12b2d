import { openTokenizer } from '@quern/runtime';
import { Command } from 'commander';
import { readStdin } from '../terminal/stdin.js';
import { write, writeJson } from '../terminal/write.js';

interface TokenizeFlags {
  readonly json?: boolean;
  readonly special?: boolean;
}

async function tokenize(
  path: string,
  argument: string | undefined,
  flags: TokenizeFlags,
  command: Command,
): Promise<void> {
  const text = argument ?? (await readStdin());
  if (text === undefined)
    command.error('error: there is no text: give one as an argument, or pipe it into standard input');
  const tokenizer = await openTokenizer(path);
  const ids = [...tokenizer.encode(text, { special: flags.special ? 'parse' : 'text', addBos: false })];
  if (flags.json) await writeJson({ ids });
  else for (const id of ids) await write(`${id}\t${JSON.stringify(tokenizer.tokenText(id))}\n`);
}

export const tokenizeCommand = (): Command =>
  new Command('tokenize')
    .description('show the tokens of a text')
    .argument('<model>')
    .argument('[text]', 'default: standard input (a final line break is dropped)')
    .option('--special', 'parse control tokens such as <|im_end|> in the text')
    .option('--json', 'print {"ids": […]}')
    .action(tokenize);
