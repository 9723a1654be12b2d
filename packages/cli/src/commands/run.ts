import type { GenerationResult, Model } from '@quern/runtime';
import { Command } from 'commander';
import { withModel } from '../load.js';
import {
  generateOptions,
  type LoadFlags,
  type SamplingFlags,
  withLoading,
  withSampling,
} from '../options.js';
import { interruptedStatus, interruptible } from '../terminal/interrupt.js';
import { say } from '../terminal/report.js';
import { readStdin } from '../terminal/stdin.js';
import { write, writeJson } from '../terminal/write.js';

interface RunFlags extends LoadFlags, SamplingFlags {
  readonly prompt?: string;
  readonly json?: boolean;
}

/** What `--json` prints; other people's scripts read it. */
const jsonResult = (model: Model, result: GenerationResult) => ({
  text: result.text,
  tokens: result.tokens,
  promptTokens: result.promptTokens,
  prefillTokensPerSecond: result.prefillTokensPerSecond,
  decodeTokensPerSecond: result.decodeTokensPerSecond,
  loadMs: model.loadMs,
  backend: model.backend,
  plan: model.plan,
});

const rate = (value: number) => value.toFixed(value < 100 ? 1 : 0);

async function generate(model: Model, flags: RunFlags, signal: AbortSignal): Promise<void> {
  const prompt = flags.prompt ?? (await readStdin()) ?? '';
  const generation = model.generate(prompt, { ...generateOptions(flags), signal });
  if (!flags.json) await write(prompt);
  for await (const { text } of generation) if (!flags.json) await write(text);
  const result = await generation.result;
  if (flags.json) await writeJson(jsonResult(model, result));
  else {
    await write('\n');
    say(
      `${result.tokens.length} tokens on ${model.backend}: prefill ${rate(result.prefillTokensPerSecond)}, ` +
        `decode ${rate(result.decodeTokensPerSecond)} tokens/s; loaded in ${rate(model.loadMs)} ms`,
    );
  }
  if (result.reason === 'abort') process.exitCode = interruptedStatus;
}

export const runCommand = (): Command =>
  withSampling(withLoading(new Command('run')))
    .description('continue a text; the prompt comes from -p or from standard input')
    .argument('<model>')
    .option('-p, --prompt <text>', 'the text to continue')
    .option('--json', 'print one JSON object at the end')
    .action((path: string, flags: RunFlags) =>
      interruptible((signal) => withModel(path, flags, signal, (model) => generate(model, flags, signal))),
    );
