import {
  type Backend,
  checkOptions,
  type KvDtype,
  kvElements,
  type Rule,
  rules,
  type Schema,
  type WithDefaults,
  withDefaults,
} from '@quern/core';
import { findBackendsSchema } from '../discovery/find-backends.js';
import { badOption } from '../error.js';

/** What is under way while a model loads: 'backend' finds and starts one, 'weights' counts bytes of the file. */
export interface LoadProgress {
  readonly phase: 'backend' | 'weights';
  readonly loaded: number;
  readonly total: number;
}

/** A backend by name, or an instance. */
export type BackendChoice = string | Backend;

export interface LoadOptions {
  /**
   * 'auto' (the default) takes the fastest installed one that has the memory, but none whose package says `"auto": false`, as
   * backend-reference does, or several where none of them holds the model alone; a name takes that one, as does the path of its
   * package's folder or of a module ('./my-backend'); an instance stays the caller's to dispose. Several, as a list or with commas
   * between ('cpu,reference'), each compute a range of the layers, in this order. A name may come once; of one package, several
   * instances may.
   */
  readonly backend?: BackendChoice | readonly BackendChoice[] | undefined;
  /** The layers of each backend, in their order: '0-11,12-27'. Default: such that a token takes the least time by the measured rates. */
  readonly split?: string | undefined;
  /** Threads of the backend. Default: the backend chooses. */
  readonly threads?: number | undefined;
  /** Tokens of context. Default: the least of what the model was trained for, what memory affords, and 4096. */
  readonly context?: number | undefined;
  /** Element type of cached keys and values; default 'f16'. 'bf16' and 'int8' where the backend has them (`kvQuant`). */
  readonly cacheDtype?: KvDtype | undefined;
  /** One stripe per sequence (the default), or small blocks that sequences share. */
  readonly cache?: 'contiguous' | 'paged' | undefined;
  /** Tokens per block of a paged cache. Default: 16, or else the backend's first. */
  readonly blockSize?: number | undefined;
  /**
   * Sequences of the whole context that the cache has room for; default 1. Generations that run at the same time decode
   * together, those beyond wait for their turn, first come first served. A paged cache counts tokens: short ones share the room of a long one.
   */
  readonly sequences?: number | undefined;
  /** Capture the steps that decode and replay them. Default: when the backend can. */
  readonly graph?: boolean | undefined;
  /** Most tokens of a prompt in one step; default 512. */
  readonly prefillChunk?: number | undefined;
  /**
   * False: weights are read into memory, and the model's files are not needed once it has loaded. Default: true; weights of 16 and 32
   * bits may stay where they lie in the mapped files, which saves memory. Such a file must not be written to while the model is
   * in use: cut short, it makes generations fail; overwritten, it makes them wrong.
   */
  readonly mmap?: boolean | undefined;
  /** Instead of the model's own: a builtin template ('chatml', 'llama2', 'llama3', 'gemma', 'phi3', 'phi4-mini'), or Jinja. */
  readonly chatTemplate?: string | undefined;
  /** Folder whose nearest package.json lists the packages to look for backends and models in. */
  readonly resolveFrom?: string | undefined;
  /**
   * Further options of the backend that is named, for its `createBackend`; its documentation lists them. Of several: by their names,
   * { cpu: { isa: 'avx2' } }.
   */
  readonly backendOptions?: Readonly<Record<string, unknown>> | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: LoadProgress) => void) | undefined;
  /**
   * Something that works, but that the caller may want to know. Without it, what must not stay unknown (a backend that
   * does not load, a call that waits for room) is a warning of the process.
   */
  readonly onNotice?: ((text: string) => void) | undefined;
}

const namedOrMade: Rule<BackendChoice> = {
  must: "'auto', the name of a backend such as 'cpu', or a Backend",
  holds: (value): value is BackendChoice => typeof value === 'string' || isBackend(value),
};

const oneOrSeveral = rules.either(namedOrMade, rules.listOf('these', namedOrMade, 1));

/** By what the runtime asks of one: a Backend may come from another copy of @quern/core. */
const isBackend = (value: unknown): value is Backend =>
  rules.isObject(value) &&
  typeof value.name === 'string' &&
  rules.isObject(value.profile) &&
  ['loadWeight', 'freeMemory', 'dispose'].every((method) => typeof value[method] === 'function');

/** For models that are computed by one backend. */
export interface OneBackendOptions {
  /** As of `loadModel`: 'auto' (the default), a name, a path, or an instance. One. */
  readonly backend?: BackendChoice | undefined;
  /** Further options of the backend that is named, for its `createBackend`; its documentation lists them. */
  readonly backendOptions?: Readonly<Record<string, unknown>> | undefined;
}

export const oneBackendSchema = {
  backend: { ...namedOrMade, about: 'what computes', byDefault: 'auto' },
  backendOptions: { ...rules.object, about: "passed on to the backend's createBackend", absent: 'none' },
} as const satisfies Schema<OneBackendOptions>;

export const backendRule: Rule<Backend> = { must: 'a Backend', holds: isBackend };

/** More is a slip: memory would not suffice on any machine. */
const [mostSequences, mostRows] = [65_536, 65_536];

/** Of each option: what it must be, and its default. */
export const loadSchema = {
  backend: {
    ...oneOrSeveral,
    about: 'what computes; several with commas between, or as a list',
    byDefault: 'auto',
  },
  split: {
    ...rules.text,
    about: "the layers of each backend, in their order, as '0-11,12-27'",
    absent: 'such that a token takes the least time by the measured rates',
  },
  threads: findBackendsSchema.threads,
  context: {
    ...rules.whole(1),
    about: 'tokens of context',
    absent: 'the least of what the model was trained for, what memory affords, and 4096',
  },
  cacheDtype: {
    ...rules.oneOf(Object.keys(kvElements) as KvDtype[]),
    about: 'element type of cached keys and values',
    byDefault: 'f16',
  },
  cache: {
    ...rules.oneOf(['contiguous', 'paged']),
    about: 'one stripe per sequence, or small blocks that sequences share',
    byDefault: 'contiguous',
  },
  blockSize: {
    ...rules.whole(1),
    about: 'tokens per block of a paged cache',
    absent: "16, or else the backend's first",
  },
  sequences: {
    ...rules.whole(1, mostSequences),
    about: 'sequences of the whole context that the cache has room for',
    byDefault: 1,
  },
  graph: {
    ...rules.flag,
    about: 'capture the steps that decode and replay them',
    absent: 'where the backend can',
  },
  prefillChunk: { ...rules.whole(1, mostRows), about: 'most tokens of a prompt in one step', byDefault: 512 },
  chatTemplate: {
    ...rules.text,
    about: "a builtin template ('chatml', 'llama2', 'llama3', 'gemma', 'phi3', 'phi4-mini'), or Jinja",
    absent: "the model's own",
  },
  resolveFrom: findBackendsSchema.resolveFrom,
  mmap: { ...rules.flag, about: "map the model's file into memory instead of reading it", byDefault: true },
  backendOptions: {
    ...rules.object,
    about: "passed on to the backend's createBackend; of several backends by their names",
    absent: 'none',
  },
  signal: { ...rules.signal, about: 'ends loading, which rejects with ABORTED', absent: 'none' },
  onProgress: { ...rules.callback, about: 'what is under way, and how far it is', absent: 'none' },
  onNotice: {
    ...rules.callback,
    about: 'something that works, but that the caller may want to know',
    absent: 'none',
  },
} as const satisfies Schema<LoadOptions>;

/** The options with the defaults of those that have one. */
export type ResolvedLoadOptions = WithDefaults<LoadOptions, typeof loadSchema>;

/** @throws RuntimeError BAD_OPTION */
export function resolveLoadOptions(options: LoadOptions): ResolvedLoadOptions {
  checkOptions('loadModel', options, loadSchema, badOption);
  return withDefaults(options, loadSchema);
}
