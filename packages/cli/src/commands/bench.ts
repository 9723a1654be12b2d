import { join } from 'node:path';
import {
  type Backend,
  type KvDtype,
  type ModelKind,
  modelKind,
  optionSchemas,
  type Precision,
  precisions,
  type SyntheticFormat,
  syntheticFormats,
} from '@quern/runtime';
import { Command, InvalidArgumentError, Option } from 'commander';
import { archs, makeArch } from '../bench/archs.js';
import { type BackendFlags, backendNames, openBackends } from '../bench/backends.js';
import { chartOf } from '../bench/chart.js';
import { errorBound } from '../bench/check.js';
import { measureEncoder } from '../bench/encoder.js';
import { measureModel } from '../bench/run.js';
import { measureSpeech } from '../bench/speech.js';
import { type Machine, type Run, showMachine, showProfile, showRun, showTable } from '../bench/table.js';
import { showWork, type WorkFlags } from '../bench/works.js';
import {
  kvOption,
  noMmapOption,
  parserOf,
  positive,
  splitOption,
  whole,
  withNamedBackend,
} from '../options.js';
import { needFolder, needFree, writeText } from '../output-path.js';
import { inTemporaryFolder } from '../temporary-folder.js';
import { interruptible } from '../terminal/interrupt.js';
import { notice } from '../terminal/report.js';
import { write, writeJson } from '../terminal/write.js';
import { benchServeCommand } from './bench-serve.js';

interface BenchFlags extends WorkFlags {
  readonly arch: readonly string[];
  readonly format: readonly SyntheticFormat[];
  readonly seed: number;
  readonly model?: string;
  readonly backend: string;
  readonly backendOption?: Readonly<Record<string, unknown>>;
  readonly split?: string;
  readonly threads?: readonly number[];
  readonly isa?: readonly string[];
  readonly precision?: readonly Precision[];
  readonly kv?: KvDtype;
  readonly repeat: number;
  readonly check: boolean;
  readonly mmap: boolean;
  readonly make?: string;
  readonly force?: boolean;
  readonly json?: boolean;
  readonly svg?: string;
}

/** Comma-separated values, each parsed by `parse`. */
const listOf =
  <T>(parse: (text: string) => T) =>
  (text: string): T[] =>
    text.split(',').map((value) => parse(value.trim()));

function oneOf<T extends string>(names: readonly T[]): (text: string) => T {
  return (text) => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new InvalidArgumentError(`Allowed choices are ${names.join(', ')}.`);
  };
}

function word(text: string): string {
  if (text === '') throw new InvalidArgumentError('it must be a name.');
  return text;
}

/** A model to measure, and the source of its file. */
interface Subject {
  readonly name: string;
  readonly kind: ModelKind;
  use<T>(work: (path: string) => Promise<T>): Promise<T>;
}

async function subjectsOf(
  { arch, format, seed, model }: BenchFlags,
  signal: AbortSignal,
): Promise<Subject[]> {
  if (model !== undefined) return [{ name: model, kind: await modelKind(model), use: (work) => work(model) }];
  const made = (shape: string, recipe: SyntheticFormat): Subject => ({
    name: `${shape} ${recipe}`,
    kind: archs[shape]!,
    use: (work) =>
      inTemporaryFolder(async (folder) => {
        const path = join(folder, `${shape}-${recipe}.gguf`);
        notice(`making ${shape} in ${recipe} …`);
        await makeArch(path, shape, { format: recipe, seed, signal });
        return work(path);
      }),
  });
  return arch.flatMap((shape) => format.map((recipe) => made(shape, recipe)));
}

/** Encoders and speech models lie on one backend. */
const alone =
  (measure: typeof measureEncoder): typeof measureModel =>
  (path, [backend], ...rest) =>
    measure(path, backend!, ...rest);

const measures = {
  language: measureModel,
  encoder: alone(measureEncoder),
  speech: alone(measureSpeech),
};

/** Every model on every requested backend, one after the other. */
class Measurements {
  readonly machines: Machine[] = [];
  readonly runs: Run[] = [];

  constructor(
    private readonly flags: BenchFlags,
    private readonly signal: AbortSignal,
  ) {}

  async take(subjects: readonly Subject[]): Promise<void> {
    const { threads = [undefined], isa = [undefined], precision = [undefined] } = this.flags;
    const choices = threads.flatMap((count) =>
      isa.flatMap((name) => precision.map((each) => ({ threads: count, isa: name, precision: each }))),
    );
    for (const subject of subjects)
      await subject.use(async (path) => {
        for (const choice of choices) await this.takeOn(subject, path, choice);
      });
  }

  private async takeOn(
    { name, kind }: Subject,
    path: string,
    choice: Pick<BackendFlags, 'threads' | 'isa' | 'precision'>,
  ): Promise<void> {
    const { backend: wanted, backendOption, repeat, check, mmap, kv, split } = this.flags;
    const backends = await openBackends({ backend: wanted, backendOption, ...choice });
    try {
      this.signal.throwIfAborted();
      const machines: Machine[] = [];
      for (const backend of backends) machines.push(await this.machineOf(backend, backends.length === 1));
      const where = backends.map(({ profile }) => showProfile(profile)).join(' + ');
      const figures = await measures[kind](path, backends, machines[0]!.ceilings ?? undefined, {
        flags: this.flags,
        ...(kv && { cacheDtype: kv }),
        repeat,
        check,
        mmap,
        split,
        signal: this.signal,
        onWork: (work) => notice(`${name} (${where}): ${showWork(work)} …`),
      });
      this.runs.push({ model: name, ...figures });
    } finally {
      for (const backend of backends) backend.dispose();
    }
  }

  /** Measured once per instruction set and thread count. Parts have no share of ceilings. */
  private async machineOf(backend: Backend, withCeilings: boolean): Promise<Machine> {
    const { name, isa, threads } = backend.profile;
    const known = this.machines.find(
      (machine) => machine.backend === backend.name && machine.isa === isa && machine.threads === threads,
    );
    if (known) return known;
    const ceilings = (withCeilings && (await backend.measureCeilings?.())) || null;
    const machine = { name, backend: backend.name, isa, threads, ceilings };
    this.machines.push(machine);
    return machine;
  }
}

async function measure(flags: BenchFlags, command: Command, signal: AbortSignal): Promise<void> {
  const subjects = await subjectsOf(flags, signal);
  needSupportedFlags(flags, subjects, command);
  const measurements = new Measurements(flags, signal);
  await measurements.take(subjects);
  await print(measurements, flags);
}

async function print({ machines, runs }: Measurements, { json, svg }: BenchFlags): Promise<void> {
  if (json) await writeJson({ machines, runs });
  else await write(`${machines.map(showMachine).join('')}${runs.map(showRun).join('')}\n${showTable(runs)}`);
  if (svg !== undefined) writeText(svg, chartOf(runs));
}

async function make(path: string, { arch, format, seed }: BenchFlags, signal: AbortSignal): Promise<void> {
  const [shape, recipe] = [arch[0]!, format[0]!];
  await makeArch(path, shape, { format: recipe, seed, signal });
  notice(`${path}: ${shape} in ${recipe}, random weights from seed ${seed}`);
}

/** What has a meaning for one backend alone, or for several. */
function needParts({ backend, split, isa, make: path }: BenchFlags, command: Command): void {
  const names = backendNames(backend);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined)
    command.error(`error: --backend names '${twice}' twice: a backend computes one range of layers`);
  if (names.includes('auto') && (names.length > 1 || split !== undefined))
    command.error(
      'error: auto chooses one backend: name each of several, as in --backend cpu,reference --split 0-11,12-27',
    );
  if (names.length > 1 && isa !== undefined)
    command.error(
      `error: --isa is of one backend: of several, name it, as in --backend-option ${names[0]}.isa=avx2`,
    );
  if (path !== undefined && split !== undefined)
    command.error('error: --make only writes a model: leave out --split');
}

function needSense(flags: BenchFlags, command: Command): void {
  needParts(flags, command);
  const { make: path, svg, force, arch, format } = flags;
  if (svg !== undefined) {
    needFree(svg, force, command);
    needFolder(svg, command);
  }
  if (path === undefined) return;
  if (arch.length * format.length > 1)
    command.error('error: --make writes one file: give one --arch and one --format');
  needFree(path, force, command);
}

/** Refuses --depth and --kv for encoders and speech models (no text cache), --batch for speech, several backends for both. */
function needSupportedFlags(
  { depth, kv, batch, backend, split }: BenchFlags,
  subjects: readonly Subject[],
  command: Command,
): void {
  const other = subjects.find(({ kind }) => kind !== 'language');
  if (other === undefined) return;
  if (split !== undefined || backendNames(backend).length > 1)
    command.error(
      `error: ${other.name} lies on one backend: --split and several names in --backend are for language models`,
    );
  if (kv !== undefined || depth.some((tokens) => tokens > 0))
    command.error(`error: ${other.name} has no cache to fill: --depth and --kv are for language models`);
  const speech = subjects.find(({ kind }) => kind === 'speech');
  if (speech !== undefined && batch.some((count) => count > 1))
    command.error(
      `error: ${speech.name} computes one window at a time: --batch is for language models and encoders`,
    );
}

async function bench(flags: BenchFlags, command: Command): Promise<void> {
  needSense(flags, command);
  const { make: path } = flags;
  await interruptible((signal) =>
    path === undefined ? measure(flags, command, signal) : make(path, flags, signal),
  );
}

const several = '; several, separated by commas';

/** An option that takes several of these names. */
const namesOption = (flags: string, about: string, names: readonly string[]): Option =>
  new Option(flags, about + several).choices(names).argParser(listOf(oneOf(names)));

export const benchCommand = (): Command =>
  withNamedBackend(new Command('bench'))
    .description('measure speed, on random weights of a true shape or on a model file')
    .addOption(namesOption('--arch <shapes>', 'model shapes', Object.keys(archs)).default(['qwen3-0.6b']))
    .addOption(
      namesOption('--format <formats>', 'of the weights', Object.keys(syntheticFormats)).default(['q4_k_m']),
    )
    .option('--seed <s>', 'of the random weights', whole, 1)
    .addOption(splitOption())
    .addOption(
      new Option('--model <file>', 'measure this model instead, of any kind: a file or a folder').conflicts([
        'arch',
        'format',
        'make',
      ]),
    )
    .option(
      '--prompt <tokens>',
      `length of the prompt, or of a text to embed${several}`,
      listOf(positive),
      [512],
    )
    .option(
      '--gen <tokens>',
      `tokens to generate, or to decode for an audio window${several}`,
      listOf(positive),
      [64],
    )
    .option('--depth <tokens>', `tokens already in the cache${several}`, listOf(whole), [0])
    .option(
      '--batch <n>',
      `sequences per decode step, or texts per embed call${several}`,
      listOf(positive),
      [1],
    )
    .addOption(kvOption())
    .option(
      '--threads <n>',
      `threads to compute with${several}`,
      listOf(parserOf(optionSchemas.LoadOptions.threads)),
    )
    .addOption(namesOption('--precision <names>', 'how products and attention may round', precisions))
    .option('--isa <names>', `instruction sets of the backend${several}`, listOf(word))
    .addOption(noMmapOption())
    .option('--repeat <times>', 'repetitions; the report has median and quartiles', positive, 5)
    .option('--no-check', `skip the check against scalar code (relative error at most ${errorBound})`)
    .option('--make <file>', 'only write the model to a file')
    .option('--force', 'overwrite the file of --make or --svg')
    .option('--json', 'print one JSON object')
    .option('--svg <file>', 'also draw a chart')
    .enablePositionalOptions() // options after 'serve' are of serve, also where both have one of this name
    .addCommand(benchServeCommand())
    .action(bench);
