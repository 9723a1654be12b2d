import { existsSync, statSync } from 'node:fs';
import { type MixName, mixes, quantizeModel } from '@quern/runtime';
import { Argument, Command } from 'commander';
import { positive } from '../options.js';
import { interruptible } from '../terminal/interrupt.js';
import { loadingBar } from '../terminal/progress.js';
import { say } from '../terminal/report.js';

interface QuantizeFlags {
  readonly threads?: number;
  readonly force?: boolean;
}

async function quantize(
  model: string,
  output: string,
  mix: MixName,
  flags: QuantizeFlags,
  command: Command,
): Promise<void> {
  if (!flags.force && existsSync(output))
    command.error(`error: ${output} exists already: --force overwrites it`);
  const start = performance.now();
  const bar = loadingBar();
  await interruptible((signal) =>
    quantizeModel(model, output, {
      mix,
      signal,
      onNotice: say,
      onProgress: (progress) => bar.update({ phase: 'weights', ...progress }),
      ...(flags.threads !== undefined && { threads: flags.threads }),
    }).finally(() => bar.stop()),
  );
  const seconds = (performance.now() - start) / 1000;
  say(`${output}: ${mix}, ${(statSync(output).size / 1e6).toFixed(1)} MB in ${seconds.toFixed(1)} s`);
}

export const quantizeCommand = (): Command =>
  new Command('quantize')
    .description('write a model as a GGUF file in another format')
    .argument('<model>')
    .argument('<out>', 'the GGUF file to write')
    .addArgument(new Argument('<format>', 'of the weights').choices(Object.keys(mixes)))
    .option('--threads <n>', 'threads to encode with', positive)
    .option('--force', 'overwrite OUT')
    .action(quantize);
