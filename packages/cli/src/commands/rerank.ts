import { Command } from 'commander';
import { withEmbedder } from '../load.js';
import { type BackendFlags, withBackend } from '../options.js';
import { interruptible } from '../terminal/interrupt.js';
import { write, writeJson } from '../terminal/write.js';
import { reportTruncated, textsFrom } from './embed.js';

interface RerankFlags extends BackendFlags {
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
      const { ranked, tokens, truncated } = await model.rerank(query, texts, { signal });
      if (flags.json) await writeJson({ ranked, tokens });
      else for (const { index, score } of ranked) await write(`${score.toFixed(4)}\t${texts[index]}\n`);
      reportTruncated(truncated, texts.length);
    }),
  );
}

export const rerankCommand = (): Command =>
  withBackend(new Command('rerank'))
    .description('order texts by how well they answer a query, with a cross-encoder')
    .argument('<model>')
    .argument('<query>')
    .argument('[text...]', 'default: every line of standard input is a text')
    .option('--json', 'print {"ranked": [{"index", "score", "logit"}, …], "tokens": …}, best first')
    .action(rerank);
