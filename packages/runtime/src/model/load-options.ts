import {
  type Backend,
  checkOptions,
  type KvDtype,
  kvElements,
  type Precision,
  type ProgressListener,
  type Rule,
  rules,
  type Schema,
  type WithDefaults,
  withDefaults,
} from '@quern/core';
import { findBackendsSchema } from '../discovery/find-backends.js';
import { badOption } from '../error.js';

/** A backend by name, or an instance. */
export type BackendChoice = string | Backend;

export interface LoadOptions {
  /**
   * 'auto' (the default): the fastest installed backend with enough memory, or several backends where none holds the
   * model alone. 'auto' skips packages with `"auto": false`, as backend-reference has. A name: that backend. A path:
   * the backend in that package folder or module ('./my-backend'). An instance: the caller disposes it. A list, or
   * names with commas ('cpu,reference'): each backend computes a range of the layers, in this order. A name may come
   * once; several instances of one package may come.
   */
  readonly backend?: BackendChoice | readonly BackendChoice[] | undefined;
  /**
   * The layers of each backend, in the order of the backends: '0-11,12-27'. Default: the split with the least time per
   * token by the devices' rates.
   */
  readonly split?: string | undefined;
  /** Threads of the backend. Default: the backend chooses. An instance has its threads from its `createBackend`. */
  readonly threads?: number | undefined;
  /**
   * How products and attention may round; of several backends, each one. 'fast': prompts more coarsely. 'standard':
   * activations of quantised weights to 8 bits. 'exact': nothing. Default: the backend chooses; backend-cpu: 'standard'.
   * An instance has its precision from its `createBackend`.
   */
  readonly precision?: Precision | undefined;
  /**
   * Tokens of context. Default: the context the model was trained for, limited to half of the memory left after the
   * weights; up to 4096 tokens may use all of it. LongRoPE: the context of the factors for short texts.
   */
  readonly context?: number | undefined;
  /**
   * Most bytes of the model's memory that the planner uses on each device: weights, cache and the largest step. The default
   * context is shorter then. Default: what is free.
   */
  readonly memoryBytes?: number | undefined;
  /**
   * Element type of cached keys and values; default 'f16'. 'bf16', 'int8' and 'fp8': only where the backend supports them
   * (`kvQuant`).
   */
  readonly cacheDtype?: KvDtype | undefined;
  /**
   * Folder for the computed prefixes of texts, kept between processes: a later call with the same prefix restores
   * its blocks instead of computing them. Processes and models may share it. Whoever can read it can find out which
   * texts were computed; whoever can write it can change answers. Not with `deterministic`. Default: none.
   */
  readonly cacheDir?: string | undefined;
  /** Most bytes of all blocks in `cacheDir`; the least recently used ones are deleted. Default: 8 GiB. */
  readonly cacheDirBytes?: number | undefined;
  /**
   * Bytes of host memory for blocks that the cache evicts: of use where the device's memory is small, as on GPUs. Not
   * with `deterministic`. Default: none.
   */
  readonly cacheMemory?: number | undefined;
  /**
   * Tokens per block of the cache. Calls share equal prefixes in whole blocks. Default: 16, or the
   * backend's first size where the backend has no 16.
   */
  readonly blockSize?: number | undefined;
  /**
   * Number of sequences with the whole context that the cache holds; default 1. Concurrent generations decode together.
   * The cache counts tokens: several short sequences share the room of a long one, and further ones wait, first come, first
   * served. The default context may be the whole room: `plan.room`.
   */
  readonly sequences?: number | undefined;
  /**
   * The same call with the same `seed`, or greedy, gives the same text always, whatever runs beside it and whatever ran before:
   * prompts have steps of their own, decoding steps at most `profile.exactRows` rows, and no call reuses the cache of another. A
   * draft model must be loaded with it too. Slower under load. Default false: a row of a shared step, or after a cached prefix, may round otherwise than alone.
   */
  readonly deterministic?: boolean | undefined;
  /** Most calls that wait for room in the cache; further ones fail with BUSY. Default: no limit. */
  readonly maxQueue?: number | undefined;
  /**
   * Longest time between two tokens of a text while others' prompts are computed, in milliseconds: prompts enter in
   * pieces that keep it, of 8 tokens at least. Default: twice a step without prompts, or 50 ms if that is longer; longer
   * where several prompts wait. A step without prompts may take longer than the target. Without effect with
   * `deterministic`, whose prompts have steps of their own.
   */
  readonly itlTarget?: number | undefined;
  /**
   * Longest time from a request to its first token while others decode, in milliseconds. Where prompts would miss it,
   * their pieces grow beyond the usual time between tokens, up to `prefillChunk`; not beyond an `itlTarget`. Without effect with
   * `deterministic`, and while calls of a `group` run beside others. Default: no target.
   */
  readonly ttftTarget?: number | undefined;
  /**
   * LoRA adapters to load with the model: paths by the names that calls use. See `Model.loadAdapter`. Default: none.
   */
  readonly adapters?: Readonly<Record<string, string>> | undefined;
  /** Capture decode steps and replay them. Default: true where the backend can. */
  readonly graph?: boolean | undefined;
  /** Most prompt tokens in one step; default 512. */
  readonly prefillChunk?: number | undefined;
  /**
   * False: weights are read into memory; after loading, the model's files are not needed. True (the default): weights
   * of 16 and 32 bits may stay in the mapped files, which saves memory. Nobody may write to a mapped file while the
   * model is in use: a truncated file makes generations fail, an overwritten file makes them wrong.
   */
  readonly mmap?: boolean | undefined;
  /**
   * In place of the model's own template: a builtin ('chatml', 'llama2', 'llama3', 'mistral', 'gemma', 'phi3', 'phi4-mini'), or
   * Jinja text.
   */
  readonly chatTemplate?: string | undefined;
  /** Folder: the packages in its nearest package.json are searched for backends, architectures and models. */
  readonly resolveFrom?: string | undefined;
  /**
   * Further options for `createBackend` of the named backend; see the backend's documentation. For several backends,
   * keyed by name: { cpu: { isa: 'avx2' } }.
   */
  readonly backendOptions?: Readonly<Record<string, unknown>> | undefined;
  /** True: a model by name ('hf:owner/name') comes from the cache alone, without a request. Default: HF_HUB_OFFLINE, else false. */
  readonly offline?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the bytes of a download ('download'), when the backend is found ('backend'), and with the loaded bytes
   * ('weights').
   */
  readonly onProgress?: ProgressListener<'download' | 'backend' | 'weights'> | undefined;
  /**
   * Called with notices: loading or the call goes on, but the caller may want to know. Without a listener, important
   * notices (a backend that cannot be used, a call that waits for room) become process warnings.
   */
  readonly onNotice?: ((text: string) => void) | undefined;
}

const namedOrMade: Rule<BackendChoice> = {
  must: "'auto', the name of a backend such as 'cpu', or a Backend",
  holds: (value): value is BackendChoice => typeof value === 'string' || isBackend(value),
};

const oneOrSeveral = rules.either(namedOrMade, rules.listOf('these', namedOrMade, 1));

/** Checks the properties that the runtime needs: a Backend may come from another copy of @quern/core. */
const isBackend = (value: unknown): value is Backend =>
  rules.isObject(value) &&
  typeof value.name === 'string' &&
  rules.isObject(value.profile) &&
  ['loadWeight', 'freeMemory', 'dispose'].every((method) => typeof value[method] === 'function');

/** For models that one backend computes. */
export interface OneBackendOptions {
  /** As for `loadModel`: 'auto' (the default), a name, a path, or an instance. Only one. */
  readonly backend?: BackendChoice | undefined;
  /** Further options for `createBackend` of the named backend; see the backend's documentation. */
  readonly backendOptions?: Readonly<Record<string, unknown>> | undefined;
}

export const oneBackendSchema = {
  backend: { ...namedOrMade, about: 'the backend', byDefault: 'auto' },
  backendOptions: {
    ...rules.object,
    about: "further options for the backend's createBackend",
    absent: 'none',
  },
} as const satisfies Schema<OneBackendOptions>;

export const backendRule: Rule<Backend> = { must: 'a Backend', holds: isBackend };

const pathsByName: Rule<Readonly<Record<string, string>>> = {
  must: 'an object of paths by name',
  holds: (value): value is Readonly<Record<string, string>> =>
    rules.isObject(value) &&
    !Array.isArray(value) &&
    Object.values(value).every((path) => typeof path === 'string'),
};

/** Larger values are typing errors: no machine has the memory. */
const [mostSequences, mostRows] = [65_536, 65_536];

/** What each option must be, and its default. */
export const loadSchema = {
  backend: {
    ...oneOrSeveral,
    about: 'the backend; several: separated by commas, or a list',
    byDefault: 'auto',
  },
  split: {
    ...rules.text,
    about: "the layers of each backend, in the order of the backends: '0-11,12-27'",
    absent: "the split with the least time per token by the devices' rates",
  },
  threads: findBackendsSchema.threads,
  precision: findBackendsSchema.precision,
  context: {
    ...rules.whole(1),
    about: 'tokens of context',
    absent: 'the context the model was trained for, limited to half of the free memory',
  },
  memoryBytes: {
    ...rules.whole(1),
    about: 'most bytes of weights, cache and the largest step on each device',
    absent: 'what is free',
  },
  cacheDtype: {
    ...rules.oneOf(Object.keys(kvElements) as KvDtype[]),
    about: 'element type of cached keys and values',
    byDefault: 'f16',
  },
  cacheDir: {
    ...rules.path,
    about: 'folder for the computed prefixes of texts, kept between processes',
    absent: 'none',
  },
  cacheDirBytes: {
    ...rules.whole(1),
    about: 'most bytes of all blocks in the cache folder',
    byDefault: 8 * 2 ** 30,
  },
  cacheMemory: {
    ...rules.whole(1),
    about: 'bytes of host memory for blocks that the cache evicts',
    absent: 'none',
  },
  blockSize: {
    ...rules.whole(1),
    about: 'tokens per block of the cache',
    absent: "16, or the backend's first size where it has no 16",
  },
  sequences: {
    ...rules.whole(1, mostSequences),
    about: 'number of sequences with the whole context in the cache',
    byDefault: 1,
  },
  deterministic: {
    ...rules.flag,
    about:
      'the same call with the same seed gives the same text always, whatever else runs or ran before; slower under load',
    byDefault: false,
  },
  maxQueue: {
    ...rules.whole(0),
    about: 'most calls that wait for room in the cache; further ones fail with BUSY',
    absent: 'no limit',
  },
  itlTarget: {
    ...rules.aboveZero,
    about: 'longest time between two tokens while prompts of others are computed, in milliseconds',
    absent: 'twice a step without prompts, at least 50',
  },
  ttftTarget: {
    ...rules.aboveZero,
    about: 'longest time to the first token while others decode, in milliseconds; itlTarget goes before it',
    absent: 'none',
  },
  adapters: {
    ...pathsByName,
    about: 'LoRA adapters to load with the model: paths by name',
    absent: 'none',
  },
  graph: {
    ...rules.flag,
    about: 'capture decode steps and replay them',
    absent: 'where the backend can',
  },
  prefillChunk: {
    ...rules.whole(1, mostRows),
    about: 'most prompt tokens in one step',
    absent: '512; on GPUs that compute 2048 in half a second, with memory for them: 2048',
  },
  chatTemplate: {
    ...rules.text,
    about:
      "a builtin template ('chatml', 'llama2', 'llama3', 'mistral', 'gemma', 'phi3', 'phi4-mini'), or Jinja",
    absent: "the model's own",
  },
  resolveFrom: findBackendsSchema.resolveFrom,
  mmap: {
    ...rules.flag,
    about: "map the model's files instead of reading them into memory",
    byDefault: true,
  },
  backendOptions: {
    ...rules.object,
    about: "further options for the backend's createBackend; several backends: keyed by name",
    absent: 'none',
  },
  offline: {
    ...rules.flag,
    about: 'a model by name comes from the cache alone, without a request',
    absent: 'HF_HUB_OFFLINE, else false',
  },
  signal: { ...rules.signal, about: 'ends loading; the call rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about: "called with { phase, done, total }: 'download' in bytes, 'backend', then 'weights' in bytes",
    absent: 'none',
  },
  onNotice: {
    ...rules.callback,
    about: 'called with notices, which are no errors',
    absent: 'none',
  },
} as const satisfies Schema<LoadOptions>;

/** The options with their defaults filled in. */
export type ResolvedLoadOptions = WithDefaults<LoadOptions, typeof loadSchema>;

/** @throws RuntimeError BAD_OPTION */
export function resolveLoadOptions(what: string, options: LoadOptions): ResolvedLoadOptions {
  checkOptions(what, options, loadSchema, badOption);
  needOffloadOptions(what, options);
  return withDefaults(options, loadSchema);
}

/** Whether blocks are offloaded. */
export const offloads = ({ cacheDir, cacheMemory }: LoadOptions): boolean =>
  cacheDir !== undefined || cacheMemory !== undefined;

/** Offloaded blocks are of prefixes that calls share. */
function needOffloadOptions(what: string, options: LoadOptions): void {
  const { deterministic, cacheDir, cacheDirBytes } = options;
  if (cacheDirBytes !== undefined && cacheDir === undefined)
    throw badOption(`[${what}] cacheDirBytes bounds the folder cacheDir, which is missing`, 'cacheDirBytes');
  const name = cacheDir === undefined ? 'cacheMemory' : 'cacheDir';
  if (!offloads(options)) return;
  if (deterministic)
    throw badOption(
      `[${what}] ${name} and deterministic exclude each other: with deterministic no call reuses computed tokens`,
      'deterministic',
    );
}
