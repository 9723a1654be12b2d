import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type GenerationResult,
  loadModel,
  type Model,
  makeSyntheticModel,
  modelShapes,
  recipes,
} from '@quern/runtime';
import { Command, Option } from 'commander';
import { type LoadFlags, loadOptions, positive, whole, withLoading } from '../options.js';
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
  readonly json?: boolean;
}

const median = (values: readonly number[]): number => [...values].sort((a, b) => a - b)[values.length >> 1]!;

/** One prompt and its answer, with tokens that mean nothing. */
async function once(model: Model, flags: BenchFlags, signal: AbortSignal): Promise<GenerationResult> {
  const prompt = Array.from({ length: flags.prompt }, (_, i) => (i * 7919) % 256);
  const generation = model.generate(prompt, {
    maxTokens: flags.gen,
    temperature: 0,
    ignoreEos: true,
    signal,
  });
  for await (const _ of generation);
  return generation.result;
}

async function measure(path: string, flags: BenchFlags, signal: AbortSignal): Promise<void> {
  const context = flags.ctx ?? flags.prompt + flags.gen;
  const model = await loadModel(path, { ...loadOptions({ ...flags, ctx: context }), signal, onNotice: say });
  try {
    const results: GenerationResult[] = [];
    for (let i = 0; i < flags.repeat && !signal.aborted; i++) results.push(await once(model, flags, signal));
    const prefill = median(results.map((r) => r.prefillTokensPerSecond));
    const decode = median(results.map((r) => r.decodeTokensPerSecond));
    const { name: device, profile } = { name: model.backend, profile: model.profile };
    const bandwidthShare = (decode * model.plan.memory.weights) / profile.readBandwidth;
    const figures = {
      arch: flags.arch,
      format: flags.format,
      backend: device,
      threads: profile.threads,
      isa: profile.isa,
      prompt: flags.prompt,
      gen: flags.gen,
      loadMs: model.loadMs,
      prefillTokensPerSecond: prefill,
      decodeTokensPerSecond: decode,
      bandwidthShare,
    };
    if (flags.json) await writeJson(figures);
    else
      await write(
        `${flags.arch} ${flags.format} on ${device} (${profile.isa}, ${profile.threads} threads): loaded in ${model.loadMs.toFixed(0)} ms, ` +
          `prefill ${flags.prompt}: ${prefill.toFixed(1)} tokens/s, decode ${flags.gen}: ${decode.toFixed(1)} tokens/s ` +
          `(${(100 * bandwidthShare).toFixed(0)} % of the measured read bandwidth; median of ${results.length})\n`,
      );
  } finally {
    model.dispose();
  }
}

async function bench(flags: BenchFlags, signal: AbortSignal): Promise<void> {
  const { arch: shape, format, seed } = flags;
  if (flags.make) {
    await makeSyntheticModel(flags.make, { shape, format, seed });
    say(`${flags.make}: ${shape} in ${format}, random weights from seed ${seed}`);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), 'quern-bench-'));
  try {
    const path = join(folder, `${shape}-${format}.gguf`);
    await makeSyntheticModel(path, { shape, format, seed });
    await measure(path, flags, signal);
  } finally {
    await rm(folder, { recursive: true });
  }
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
    .option('--json', 'print one JSON object')
    .action((flags: BenchFlags) => interruptible((signal) => bench(flags, signal)));
