import { Command } from 'commander';
import { withEmbedder } from '../load.js';
import { type BackendFlags, withBackend } from '../options.js';
import { interruptible } from '../terminal/interrupt.js';
import { progressBar } from '../terminal/progress.js';
import { write, writeJson } from '../terminal/write.js';
import { type LengthFlags, lengthOptions, reportTruncated, textsFrom, withLengths } from './embed.js';

interface RerankFlags extends BackendFlags, LengthFlags {
  readonly json?: boolean;
}

async function rerank(
  path: string,
  query: string,
  given: string[],
  flags: RerankFlags,
  command: Command,
): Promise<void> {
  const texts = await textsFrom(given, command);
  await interruptible((signal) =>
    withEmbedder(path, flags, signal, async (model) => {
      const bar = progressBar();
      const options = { ...lengthOptions(flags), signal, onProgress: bar.update };
      const { ranked, tokens, truncated } = await model.rerank(query, texts, options).finally(bar.stop);
      if (flags.json) await writeJson({ ranked, tokens, truncated });
      else for (const { index, score } of ranked) await write(`${score.toFixed(4)}\t${texts[index]}\n`);
      reportTruncated(truncated, texts.length);
    }),
  );
}

export const rerankCommand = (): Command =>
  withLengths(withBackend(new Command('rerank')))
    .description('order texts by how well they answer a query, with a cross-encoder')
    .argument('<model>')
    .argument('<query>')
    .argument('[text...]', 'default: every line of standard input is a text')
    .option(
      '--json',
      'print {"ranked": [{"index", "score", "logit"}, …], "tokens": …, "truncated": …}, best first',
    )
    .action(rerank);
