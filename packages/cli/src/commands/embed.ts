import { type EmbedOptions, optionSchemas, type TextsOptions } from '@quern/runtime';
import { Command } from 'commander';
import { withEmbedder } from '../load.js';
import { type BackendFlags, numberOption, withBackend } from '../options.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { progressBar } from '../terminal/progress.js';
import { notice } from '../terminal/report.js';
import { readLines } from '../terminal/stdin.js';
import { write, writeJson } from '../terminal/write.js';

interface EmbedFlags extends BackendFlags, LengthFlags {
  readonly prompt?: string;
  readonly prefix?: string;
  readonly dimensions?: number;
  readonly json?: boolean;
}

/** As parsed by commander. */
export interface LengthFlags {
  readonly maxTokens?: number;
  readonly truncate?: boolean;
}

/** What happens to long texts. */
export const lengthOptions = ({
  maxTokens,
  truncate,
}: LengthFlags): Pick<TextsOptions, 'maxTokens' | 'truncate'> => ({
  ...(maxTokens !== undefined && { maxTokens }),
  ...(truncate && { truncate }),
});

/** Options of commands that read texts with an encoder. */
export const withLengths = (command: Command): Command =>
  command
    .addOption(numberOption('--max-tokens <n>', optionSchemas.TextsOptions.maxTokens))
    .option('--truncate', "cut texts off that are longer than the model's limit, instead of an error");

const optionsOf = ({ prompt, prefix, dimensions, ...lengths }: EmbedFlags): EmbedOptions => ({
  ...(prompt !== undefined && { prompt }),
  ...(prefix !== undefined && { prefix }),
  ...(dimensions !== undefined && { dimensions }),
  ...lengthOptions(lengths),
});

/** Reports truncated texts on stderr. */
export function reportTruncated(truncated: number, texts: number): void {
  if (truncated > 0)
    notice(
      `${truncated} of ${count(texts, 'text')} ${truncated === 1 ? 'was' : 'were'} longer than the limit and truncated`,
    );
}

async function embed(path: string, given: string[], flags: EmbedFlags, command: Command): Promise<void> {
  const texts = await textsFrom(given, command);
  await interruptible((signal) =>
    withEmbedder(path, flags, signal, async (model) => {
      const bar = progressBar();
      const options = { ...optionsOf(flags), signal, onProgress: bar.update };
      const { values, dimensions, tokens, truncated } = await model.embed(texts, options).finally(bar.stop);
      const row = (i: number) => Array.from(values.subarray(i * dimensions, (i + 1) * dimensions));
      if (flags.json) await writeJson({ embeddings: texts.map((_, i) => row(i)), tokens, truncated });
      else for (const i of texts.keys()) await write(`${row(i).join(' ')}\n`);
      reportTruncated(truncated, texts.length);
    }),
  );
}

/** The texts from the arguments, else the lines of standard input. */
export async function textsFrom(given: readonly string[], command: Command): Promise<readonly string[]> {
  const texts = given.length > 0 ? given : await readLines();
  if (texts === undefined || texts.length === 0)
    command.error('error: there is no text: give texts as arguments, or pipe lines into standard input');
  return texts;
}

export const embedCommand = (): Command =>
  withLengths(withBackend(new Command('embed')))
    .description('turn texts into embeddings')
    .argument('<model>')
    .argument('[text...]', 'default: every line of standard input is a text')
    .option('--prompt <name>', "write one of the model's prompts before every text: query, document, …")
    .option('--prefix <text>', 'write this before every text')
    .addOption(numberOption('--dimensions <n>', optionSchemas.EmbedOptions.dimensions))
    .option('--json', 'print {"embeddings": [[…] per text], "tokens": …, "truncated": …}')
    .action(embed);
