import { type Backend, type KvDtype, kvElements } from '@quern/core';
import { needWhole, RuntimeError } from '../error.js';

/** What is under way while a model loads: 'backend' finds and starts one, 'weights' counts bytes of the file. */
export interface LoadProgress {
  readonly phase: 'backend' | 'weights';
  readonly loaded: number;
  readonly total: number;
}

export interface LoadOptions {
  /** 'auto' (the default) takes the fastest installed one that has the memory; a name takes that one; an instance stays the caller's to dispose. */
  readonly backend?: string | Backend;
  /** Threads of the backend. Default: the backend chooses. */
  readonly threads?: number;
  /** Tokens of context. Default: the least of what the model was trained for, what memory affords, and 4096. */
  readonly context?: number;
  /** Element type of cached keys and values; default 'f16'. 'bf16' and 'int8' where the backend has them (`kvQuant`). */
  readonly cacheDtype?: KvDtype;
  /** One stripe per sequence (the default), or small blocks that sequences share. */
  readonly cache?: 'contiguous' | 'paged';
  /** Tokens per block of a paged cache. Default: 16, or else the backend's first. */
  readonly blockSize?: number;
  /**
   * Sequences of the whole context that the cache has room for; default 1. Generations that run at the same time decode
   * together, those beyond wait for their turn, first come first served. A paged cache counts tokens: short ones share the room of a long one.
   */
  readonly sequences?: number;
  /** Capture the steps that decode and replay them. Default: when the backend can. */
  readonly graph?: boolean;
  /** Most tokens of a prompt in one step; default 512. */
  readonly prefillChunk?: number;
  /**
   * False: weights are read into memory, and the model's files are not needed once it has loaded. Default: true; weights of 16 and 32
   * bits may stay where they lie in the mapped files, which saves memory. Such a file must not be written to while the model is
   * in use: cut short, it makes generations fail; overwritten, it makes them wrong.
   */
  readonly mmap?: boolean;
  /** Instead of the model's own: a builtin template ('chatml', 'llama2', 'llama3'), or Jinja. */
  readonly chatTemplate?: string;
  /** Folder whose nearest package.json lists the packages to look for backends and models in. */
  readonly resolveFrom?: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: LoadProgress) => void;
  /** Something that works, but that the caller may want to know. */
  readonly onNotice?: (text: string) => void;
}

/** The options that have defaults, with them. */
export type ResolvedLoadOptions = LoadOptions &
  Required<Pick<LoadOptions, 'backend' | 'cacheDtype' | 'cache' | 'sequences' | 'prefillChunk'>>;

function needOneOf(name: string, value: unknown, choices: readonly string[]): void {
  if (choices.some((choice) => choice === value)) return;
  throw new RuntimeError('BAD_OPTION', `${name} is ${String(value)}; it must be ${choices.join(' or ')}`);
}

/** @throws RuntimeError BAD_OPTION */
export function resolveLoadOptions(options: LoadOptions): ResolvedLoadOptions {
  const resolved = {
    ...options,
    backend: options.backend ?? 'auto',
    cacheDtype: options.cacheDtype ?? 'f16',
    cache: options.cache ?? 'contiguous',
    sequences: options.sequences ?? 1,
    prefillChunk: options.prefillChunk ?? 512,
  };
  needOneOf('cacheDtype', resolved.cacheDtype, Object.keys(kvElements));
  needOneOf('cache', resolved.cache, ['contiguous', 'paged']);
  for (const name of ['sequences', 'prefillChunk'] as const) needWhole(name, resolved[name], 1);
  for (const name of ['threads', 'context', 'blockSize'] as const)
    if (options[name] !== undefined) needWhole(name, options[name], 1);
  return resolved;
}
