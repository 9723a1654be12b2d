import type { Generation, GenerationResult, Model, SpeculateOptions } from '@quern/runtime';
import { Command } from 'commander';
import { withModel } from '../load.js';
import {
  generateOptions,
  type LoadFlags,
  type SamplingFlags,
  withLoading,
  withSampling,
} from '../options.js';
import {
  needSpeculationFlags,
  type SpeculationFlags,
  withSpeculation,
  withSpeculator,
} from '../speculation.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { say } from '../terminal/report.js';
import { readStdin } from '../terminal/stdin.js';
import { write, writeJson } from '../terminal/write.js';

interface RunFlags extends LoadFlags, SamplingFlags, SpeculationFlags {
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
  draftedTokens: result.draftedTokens,
  acceptedTokens: result.acceptedTokens,
  loadMs: model.loadMs,
  backend: model.backend,
  plan: model.plan,
});

const rate = (value: number) => value.toFixed(value < 100 ? 1 : 0);

/** For people: how fast it was, where there is something to measure. */
function summary(model: Model, result: GenerationResult): string {
  const { tokens, prefillTokensPerSecond: prefill, decodeTokensPerSecond: decode } = result;
  const rates = [
    ...(prefill ? [`prefill ${rate(prefill)}`] : []),
    ...(decode ? [`decode ${rate(decode)}`] : []),
  ];
  const drafts = result.draftedTokens
    ? `, ${result.acceptedTokens} of ${result.draftedTokens} drafted accepted`
    : '';
  const measured = tokens.length > 0 && rates.length > 0 ? `: ${rates.join(', ')} tokens/s` : '';
  return `${count(tokens.length, 'token')} on ${model.backend}${measured}${drafts}; loaded in ${rate(model.loadMs)} ms`;
}

/** Streams the text. The prompt comes with the first piece, so that what is wrong with it is said alone. */
async function stream(prompt: string, generation: Generation): Promise<void> {
  let before = prompt;
  for await (const { text } of generation) {
    await write(before + text);
    before = '';
  }
  await write(`${before}\n`);
}

async function generate(
  model: Model,
  prompt: string,
  flags: RunFlags,
  signal: AbortSignal,
  speculate: SpeculateOptions | undefined,
): Promise<void> {
  const options = { ...generateOptions(flags), ...(speculate && { speculate }), signal };
  const generation = model.generate(prompt, options);
  if (flags.json) await writeJson(jsonResult(model, await generation.result));
  else {
    await stream(prompt, generation);
    say(summary(model, await generation.result));
  }
  signal.throwIfAborted();
}

async function run(path: string, flags: RunFlags, command: Command): Promise<void> {
  needSpeculationFlags(flags, command);
  const prompt = flags.prompt ?? (await readStdin());
  if (prompt === undefined)
    command.error('error: there is no prompt: give one with -p <text>, or pipe it into standard input');
  await interruptible((signal) =>
    withModel(path, flags, signal, (model) =>
      withSpeculator(flags, signal, (speculate) => generate(model, prompt, flags, signal, speculate)),
    ),
  );
}

export const runCommand = (): Command =>
  withSpeculation(withSampling(withLoading(new Command('run'))))
    .description(
      'continue a text; the prompt comes from -p, or from standard input less one line break at its end',
    )
    .argument('<model>')
    .option('-p, --prompt <text>', 'the text to continue')
    .option('--json', 'print one JSON object at the end')
    .action(run);
