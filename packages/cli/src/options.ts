import {
  type GenerateOptions,
  type KvDtype,
  kvElements,
  type LoadOptions,
  optionSchemas,
  type Precision,
  precisions,
  type Option as SchemaOption,
} from '@quern/runtime';
import { type Command, InvalidArgumentError, Option } from 'commander';

const { GenerateOptions: generating, LoadOptions: loading } = optionSchemas;

/** Integers above 2^53 become bigint. */
function read(text: string): number | bigint {
  if (text.trim() === '') return Number.NaN;
  const value = Number(text);
  return /^\d+$/.test(text) && !Number.isSafeInteger(value) ? BigInt(text) : value;
}

/** A number parser that applies a rule; commander adds the option's name to the error. */
export const parserOf =
  <T extends number | bigint>({ must, holds }: Pick<SchemaOption<T>, 'must' | 'holds'>) =>
  (text: string): T => {
    const value: unknown = read(text);
    if (!holds(value)) throw new InvalidArgumentError(`it must be ${must}.`);
    return value;
  };

/** What a whole number from `least` on, up to `most`, must be. */
export const wholeFrom = (least: number, most = Number.MAX_SAFE_INTEGER) => ({
  must:
    most < Number.MAX_SAFE_INTEGER
      ? `a whole number from ${least} to ${most}`
      : `a whole number, ${least} or more`,
  holds: (value: unknown): value is number =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most,
});

export const whole = parserOf(wholeFrom(0));
export const positive = parserOf(wholeFrom(1));
export const positiveNumber = parserOf({
  must: 'above 0',
  holds: (value: unknown): value is number => typeof value === 'number' && value > 0,
});

const shownDefault = ({ byDefault, absent }: SchemaOption): string =>
  byDefault === undefined ? (absent ?? '') : String(byDefault);

/** The help text of a schema's option: purpose and default. */
export const helpOf = (option: SchemaOption): string => `${option.about} (default: ${shownDefault(option)})`;

/** A flag with a number; help and range from the option's schema. */
export const numberOption = <T extends number | bigint>(flags: string, option: SchemaOption<T>): Option =>
  new Option(flags, helpOf(option)).argParser(parserOf(option));

/** Collects the values of an option that may be repeated. */
export const list = (text: string, before: readonly string[] = []): string[] => [...before, text];

/** `key=value`: a value that parses as JSON is JSON, any other is text. */
function keyValue(text: string, before: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  const [, key, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (key === undefined) throw new InvalidArgumentError('it must be key=value.');
  return { ...before, [key]: jsonOrText(value!) };
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** { 'cpu.isa': 'avx2' } → { cpu: { isa: 'avx2' } }. The backend may be a path with dots: the last dot splits. */
export function byBackend(
  given: BackendFlags['backendOption'],
): Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined {
  if (!given) return undefined;
  const options: Record<string, Record<string, unknown>> = {};
  for (const [name, value] of Object.entries(given)) {
    const dot = name.lastIndexOf('.');
    const [backend, key] = [name.slice(0, Math.max(0, dot)), name.slice(dot + 1)];
    options[backend] = { ...options[backend], [key]: value };
  }
  return options;
}

/** As parsed by commander. */
export interface BackendFlags {
  readonly backend: string;
  readonly threads?: number;
  readonly precision?: Precision;
  readonly backendOption?: Readonly<Record<string, unknown>>;
  /** False with --no-mmap. */
  readonly mmap?: boolean;
}

export interface LoadFlags extends BackendFlags {
  readonly ctx?: number;
  /** Example: '0-11,12-27'. */
  readonly split?: string;
  readonly kv?: KvDtype;
  readonly deterministic?: boolean;
  readonly cacheDir?: string;
  readonly cacheDirBytes?: number;
  readonly cacheMemory?: number;
  /** A builtin template's name, or Jinja source. */
  readonly chatTemplate?: string;
}

export interface SamplingFlags {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repeatPenalty?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number | bigint;
  readonly stop?: string[];
}

/** Element type of the KV cache. */
export const kvOption = (): Option =>
  new Option('--kv <type>', helpOf(loading.cacheDtype)).choices(Object.keys(kvElements));

export const threadsOption = (): Option => numberOption('--threads <n>', loading.threads);

export const precisionOption = (): Option =>
  new Option('--precision <name>', helpOf(loading.precision)).choices(precisions);

/** An own option of a backend. */
export const backendOptionOption = (rest = ''): Option =>
  new Option(
    '--backend-option <key=value>',
    `an option of the backend${rest}; a JSON value is parsed; may be repeated`,
  ).argParser(keyValue);

/** The backend, and its own options. */
export const withNamedBackend = (command: Command): Command =>
  command
    .option(
      '--backend <names>',
      'auto, or the name or path of a backend; several, separated by commas, for one language model',
      'auto',
    )
    .addOption(backendOptionOption('; with several backends: name.key=value'));

/** For models whose files may change during use. */
export const noMmapOption = (): Option =>
  new Option('--no-mmap', 'read weights into memory; the files are not needed after loading');

/** Options of every command that computes. */
export const withBackend = (command: Command): Command =>
  withNamedBackend(command).addOption(threadsOption()).addOption(precisionOption()).addOption(noMmapOption());

export const splitOption = (): Option => new Option('--split <layers>', helpOf(loading.split));

/** Options that the plan of a language model depends on. */
export const withPlanning = (command: Command): Command =>
  withNamedBackend(command)
    .addOption(threadsOption())
    .addOption(precisionOption())
    .addOption(numberOption('--ctx <n>', loading.context))
    .addOption(splitOption())
    .addOption(kvOption());

/** Options of every command that loads a language model. */
export const withLoading = (command: Command): Command => withPlanning(command).addOption(noMmapOption());

/** Options of commands whose calls may have computed prefixes in common. */
export const withStoredCache = (command: Command): Command =>
  command
    .addOption(new Option('--cache-dir <folder>', helpOf(loading.cacheDir)))
    .addOption(numberOption('--cache-dir-bytes <n>', loading.cacheDirBytes))
    .addOption(numberOption('--cache-memory <bytes>', loading.cacheMemory))
    .addOption(new Option('--deterministic', helpOf(loading.deterministic)));

/**
 * Flags of the numeric generation options; undefined: no flag. A new option compiles only with an entry here.
 */
const numberFlags = {
  maxTokens: '-n, --max-tokens <tokens>',
  temperature: '--temperature <t>',
  topK: '--top-k <k>',
  topP: '--top-p <p>',
  minP: '--min-p <p>',
  repetitionPenalty: '--repeat-penalty <x>',
  presencePenalty: '--presence-penalty <x>',
  frequencyPenalty: '--frequency-penalty <x>',
  penaltyWindow: undefined,
  seed: '--seed <s>',
  maxWaitMs: undefined,
  priority: undefined,
  logprobs: undefined,
} as const satisfies Record<NumberOf<GenerateOptions>, string | undefined>;

type NumberOf<T> = {
  [K in keyof T]-?: number extends Exclude<T[K], undefined> ? K : never;
}[keyof T];

/** Options of every command that generates text. */
export function withSampling(command: Command): Command {
  for (const name of Object.keys(numberFlags) as NumberOf<GenerateOptions>[]) {
    const flags = numberFlags[name];
    const option: SchemaOption<number | bigint> = generating[name];
    if (flags !== undefined) command.addOption(numberOption(flags, option));
  }
  return command.option('--stop <text>', `${generating.stop.about}; may be repeated`, list);
}

const defined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

/** Options of the backend alone, for models that one backend computes. */
export const oneBackendOptions = (flags: BackendFlags) =>
  defined({
    backend: flags.backend,
    threads: flags.threads,
    precision: flags.precision,
    backendOptions: flags.backendOption,
    mmap: flags.mmap,
  });

export const loadOptions = (flags: LoadFlags): LoadOptions => ({
  ...oneBackendOptions(flags),
  ...defined({
    backendOptions: flags.backend.includes(',') ? byBackend(flags.backendOption) : undefined,
    split: flags.split,
    context: flags.ctx,
    cacheDtype: flags.kv,
    deterministic: flags.deterministic,
    cacheDir: flags.cacheDir,
    cacheDirBytes: flags.cacheDirBytes,
    cacheMemory: flags.cacheMemory,
    chatTemplate: flags.chatTemplate,
  }),
});

export const generateOptions = (flags: SamplingFlags): GenerateOptions =>
  defined({
    maxTokens: flags.maxTokens,
    temperature: flags.temperature,
    topK: flags.topK,
    topP: flags.topP,
    minP: flags.minP,
    repetitionPenalty: flags.repeatPenalty,
    presencePenalty: flags.presencePenalty,
    frequencyPenalty: flags.frequencyPenalty,
    seed: flags.seed,
    stop: flags.stop,
  });
