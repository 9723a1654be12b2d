import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type GenerationResult, type Model, makeSyntheticModel, modelShapes, recipes } from '@quern/runtime';
import { Command, Option } from 'commander';
import { load } from '../load.js';
import { type LoadFlags, positive, whole, withLoading } from '../options.js';
import { inTemporaryFolder } from '../temporary-folder.js';
import { count } from '../terminal/count.js';
import { interruptible } from '../terminal/interrupt.js';
import { say } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';

interface BenchFlags extends LoadFlags {
  readonly arch: keyof typeof modelShapes;
  readonly format: keyof typeof recipes;
  readonly seed: number;
  readonly prompt: number;
  readonly gen: number;
  readonly repeat: number;
  readonly make?: string;
  readonly force?: boolean;
  readonly json?: boolean;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** One prompt and its answer, with tokens that mean nothing. Rejects with the signal's reason. */
async function once(model: Model, flags: BenchFlags, signal: AbortSignal): Promise<GenerationResult> {
  const prompt = Array.from({ length: flags.prompt }, (_, i) => (i * 7919) % 256);
  const generation = model.generate(prompt, {
    maxTokens: flags.gen,
    temperature: 0,
    ignoreEos: true,
    signal,
  });
  const result = await generation.result;
  signal.throwIfAborted();
  return result;
}

/** What `--json` prints; other people's scripts read it. */
function figuresOf(model: Model, flags: BenchFlags, results: readonly GenerationResult[]) {
  const { profile } = model;
  const decodeTokensPerSecond = median(results.map((result) => result.decodeTokensPerSecond));
  return {
    arch: flags.arch,
    format: flags.format,
    backend: model.backend,
    threads: profile.threads,
    isa: profile.isa,
    prompt: flags.prompt,
    gen: flags.gen,
    loadMs: model.loadMs,
    prefillTokensPerSecond: median(results.map((result) => result.prefillTokensPerSecond)),
    decodeTokensPerSecond,
    bandwidthShare: (decodeTokensPerSecond * model.plan.memory.weights) / profile.readBandwidth,
  };
}

type Figures = ReturnType<typeof figuresOf>;

const showFigures = (figures: Figures, repeat: number) =>
  `${figures.arch} ${figures.format} on ${figures.backend} (${figures.isa}, ${count(figures.threads, 'thread')}): ` +
  `loaded in ${figures.loadMs.toFixed(0)} ms, ` +
  `prefill ${figures.prompt}: ${figures.prefillTokensPerSecond.toFixed(1)} tokens/s, ` +
  `decode ${figures.gen}: ${figures.decodeTokensPerSecond.toFixed(1)} tokens/s ` +
  `(${(100 * figures.bandwidthShare).toFixed(0)} % of the measured read bandwidth; median of ${repeat})\n`;

async function measure(path: string, flags: BenchFlags, signal: AbortSignal): Promise<void> {
  using model = await load(path, { ...flags, ctx: flags.ctx ?? flags.prompt + flags.gen }, signal);
  const results: GenerationResult[] = [];
  while (results.length < flags.repeat) results.push(await once(model, flags, signal));
  const figures = figuresOf(model, flags, results);
  if (flags.json) await writeJson(figures);
  else await write(showFigures(figures, flags.repeat));
}

async function make(path: string, { arch: shape, format, seed }: BenchFlags, signal: AbortSignal) {
  await makeSyntheticModel(path, { shape, format, seed, signal });
  say(`${path}: ${shape} in ${format}, random weights from seed ${seed}`);
}

const makeAndMeasure = (flags: BenchFlags, signal: AbortSignal): Promise<void> =>
  inTemporaryFolder(async (folder) => {
    const { arch: shape, format, seed } = flags;
    const path = join(folder, `${shape}-${format}.gguf`);
    await makeSyntheticModel(path, { shape, format, seed, signal });
    await measure(path, flags, signal);
  });

async function bench(flags: BenchFlags, command: Command): Promise<void> {
  const { make: path, force } = flags;
  if (path !== undefined && !force && existsSync(path))
    command.error(`error: ${path} exists already: --force overwrites it`);
  await interruptible((signal) =>
    path === undefined ? makeAndMeasure(flags, signal) : make(path, flags, signal),
  );
}

export const benchCommand = (): Command =>
  withLoading(new Command('bench'))
    .description('measure speed on a model of true shape with random weights')
    .addOption(
      new Option('--arch <shape>', 'whose shape').choices(Object.keys(modelShapes)).default('qwen3-0.6b'),
    )
    .addOption(
      new Option('--format <format>', 'of the weights').choices(Object.keys(recipes)).default('q4_k_m'),
    )
    .option('--seed <s>', 'of the random weights', whole, 1)
    .option('--prompt <tokens>', 'length of the prompt', positive, 512)
    .option('--gen <tokens>', 'tokens to generate', positive, 64)
    .option('--repeat <times>', 'the median is reported', positive, 3)
    .option('--make <file>', 'only write the model to a file')
    .option('--force', 'overwrite the file of --make')
    .option('--json', 'print one JSON object')
    .action(bench);
