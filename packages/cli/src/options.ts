import { type GenerateOptions, type KvDtype, kvElements, type LoadOptions } from '@quern/runtime';
import { type Command, InvalidArgumentError, Option } from 'commander';

function number(text: string): number {
  const value = Number(text);
  if (text.trim() === '' || !Number.isFinite(value)) throw new InvalidArgumentError('it must be a number.');
  return value;
}

/** A parser of numbers that says what is wrong with others; commander says of which option. */
const such =
  (holds: (value: number) => boolean, range: string) =>
  (text: string): number => {
    const value = number(text);
    if (!holds(value)) throw new InvalidArgumentError(`it must be ${range}.`);
    return value;
  };

export const whole = such((x) => Number.isSafeInteger(x) && x >= 0, 'a whole number, 0 or more');
export const positive = such((x) => Number.isSafeInteger(x) && x > 0, 'a whole number above 0');
const notNegative = such((x) => x >= 0, '0 or more');
export const positiveNumber = such((x) => x > 0, 'above 0');
const probability = such((x) => x >= 0 && x <= 1, 'from 0 to 1');
const probabilityAboveZero = such((x) => x > 0 && x <= 1, 'above 0 and at most 1');

const list = (text: string, before: readonly string[] = []): string[] => [...before, text];

/** `key=value`: numbers, booleans and what else is JSON as such, anything else as text. */
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

/** As commander gives them. */
export interface BackendFlags {
  readonly backend: string;
  readonly threads?: number;
  readonly backendOption?: Readonly<Record<string, unknown>>;
  /** False with --no-mmap. */
  readonly mmap?: boolean;
}

export interface LoadFlags extends BackendFlags {
  readonly ctx?: number;
  readonly kv?: KvDtype;
  /** The name of a builtin template, or Jinja. */
  readonly chatTemplate?: string;
}

export interface SamplingFlags {
  readonly n?: number;
  readonly temperature?: number;
  readonly topK?: number;
  readonly topP?: number;
  readonly minP?: number;
  readonly repeatPenalty?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stop?: string[];
}

/** Element type of the cache. */
export const kvOption = (): Option =>
  new Option('--kv <type>', 'element type of cached keys and values; f16 without').choices(
    Object.keys(kvElements),
  );

/** Which backend, and what is asked of it alone. */
export const withNamedBackend = (command: Command): Command =>
  command
    .option('--backend <name>', 'auto, the name of an installed backend, or the path of one', 'auto')
    .option(
      '--backend-option <key=value>',
      'an option of that backend; a value that is JSON is passed as such; may be repeated',
      keyValue,
    );

/** For models whose files may change while they are in use. */
export const noMmapOption = (): Option =>
  new Option('--no-mmap', 'read weights into memory, so that the files are not needed once they have loaded');

/** Options of every command that computes. */
export const withBackend = (command: Command): Command =>
  withNamedBackend(command)
    .option('--threads <n>', 'threads to compute with', positive)
    .addOption(noMmapOption());

/** Options of every command that loads a language model. */
export const withLoading = (command: Command): Command =>
  withBackend(command).option('--ctx <n>', 'tokens of context', positive).addOption(kvOption());

/** Options of every command that generates text. */
export const withSampling = (command: Command): Command =>
  command
    .option('-n <tokens>', 'most tokens to generate', whole)
    .option('--temperature <t>', '0 always takes the likeliest token', notNegative)
    .option('--top-k <k>', 'only the k likeliest tokens; 0: all', whole)
    .option(
      '--top-p <p>',
      'only the likeliest tokens that together reach probability p',
      probabilityAboveZero,
    )
    .option('--min-p <p>', 'only tokens at least p times as likely as the likeliest', probability)
    .option('--repeat-penalty <x>', 'divides the logits of recent tokens; 1: off', positiveNumber)
    .option('--presence-penalty <x>', 'subtracted once from recent tokens', number)
    .option('--frequency-penalty <x>', 'subtracted from recent tokens for each time they occurred', number)
    .option('--seed <s>', 'the same seed gives the same text', whole)
    .option('--stop <text>', 'ends the answer before this text; may be repeated', list);

const defined = <T extends object>(values: T) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };

export const loadOptions = (flags: LoadFlags): LoadOptions =>
  defined({
    backend: flags.backend,
    threads: flags.threads,
    backendOptions: flags.backendOption,
    context: flags.ctx,
    cacheDtype: flags.kv,
    chatTemplate: flags.chatTemplate,
    mmap: flags.mmap,
  });

export const generateOptions = (flags: SamplingFlags): GenerateOptions =>
  defined({
    maxTokens: flags.n,
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
