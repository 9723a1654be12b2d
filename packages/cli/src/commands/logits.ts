import { Command, InvalidArgumentError } from 'commander';
import { type AdapterFlags, adapterChoices, adapterPaths, withAdapters } from '../adapters.js';
import { withModel } from '../load.js';
import { type LoadFlags, withLoading } from '../options.js';
import { interruptible } from '../terminal/interrupt.js';
import { write, writeJson } from '../terminal/write.js';

interface LogitsFlags extends LoadFlags, AdapterFlags {
  readonly ids: number[];
  readonly json?: boolean;
}

function idList(text: string): number[] {
  const parts = text.split(',').map((part) => part.trim());
  if (!parts.every((part) => /^\d+$/.test(part)))
    throw new InvalidArgumentError('it must be token ids separated by commas: 1,2,3.');
  return parts.map(Number);
}

/** The ten largest logits of a position, as text. */
const top = (logits: Float32Array) =>
  Array.from(logits, (value, id) => ({ id, value }))
    .sort((a, b) => b.value - a.value || a.id - b.id)
    .slice(0, 10);

async function print(positions: readonly Float32Array[], json: boolean): Promise<void> {
  if (json) await writeJson({ logits: positions.map((logits) => Array.from(logits)) });
  else
    for (const [position, logits] of positions.entries())
      await write(
        `${position}: ${top(logits)
          .map(({ id, value }) => `${id} ${value.toFixed(4)}`)
          .join(', ')}\n`,
      );
}

export const logitsCommand = (): Command =>
  withAdapters(withLoading(new Command('logits')))
    .description("show a model's logits after each given token")
    .argument('<model>')
    .requiredOption('--ids <list>', 'token ids, commas between', idList)
    .option('--json', 'print {"logits": [[…] per position]}')
    .action((path: string, flags: LogitsFlags) =>
      interruptible((signal) =>
        withModel(
          path,
          flags,
          signal,
          async (model) =>
            print(
              await model.logits(flags.ids, { signal, adapters: adapterChoices(flags) }),
              Boolean(flags.json),
            ),
          { adapters: adapterPaths(flags) },
        ),
      ),
    );
