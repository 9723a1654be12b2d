import { modelKind, QuernError, RuntimeError } from '@quern/runtime';
import type { ModelPool, ModelSource } from '@quern/server';
import { count } from '../terminal/count.js';
import { say, sayError } from '../terminal/report.js';
import type { NamedPath } from './model-name.js';
import { pinnedSource, plannedSource, type SourceFlags } from './source.js';

/** Flags of models that load at their first request. */
export interface PoolFlags extends SourceFlags {
  /** Milliseconds. */
  readonly keepAlive?: number;
  /** Bytes. */
  readonly memory?: number;
  readonly maxModels?: number;
  /** Names of models that stay loaded; '*': all. */
  readonly pin?: readonly string[];
}

/** The models of a server. */
export interface ServedPaths {
  readonly paths: readonly NamedPath[];
  /** Paths that a folder has: a file there that is no model is left out. */
  readonly found: ReadonlySet<string>;
}

/** One model without flags for others stays loaded; several load at their first request. */
export const isOnDemand = ({ paths, found }: ServedPaths, flags: PoolFlags): boolean =>
  paths.length > 1 ||
  found.size > 0 ||
  [flags.keepAlive, flags.memory, flags.maxModels].some((flag) => flag !== undefined);

/** The pool of a server. Models are planned, none is loaded. Rejects as `planLoad`, and with QuernError BAD_OPTION. */
export async function servedPool(served: ServedPaths, flags: PoolFlags): Promise<ModelPool> {
  const { ModelPool: Pool } = await import('@quern/server'); // other commands start without it
  const onError = sayError;
  if (!isOnDemand(served, flags)) {
    const [only] = served.paths;
    const models = { [only!.name]: pinnedSource(only!, await modelKind(only!.path), flags) };
    return new Pool({ models, onError });
  }
  const planned = await plannedModels(served, flags);
  const free = Math.max(...planned.map(([, { plans }]) => plans.available));
  const { keepAlive, memory = free, maxModels } = flags;
  return new Pool({
    models: Object.fromEntries(planned),
    memoryBytes: memory,
    ...(maxModels !== undefined && { maxModels }),
    ...(keepAlive !== undefined && { idleMs: keepAlive }),
    onError,
  });
}

type Planned = Awaited<ReturnType<typeof plannedSource>>;

async function plannedModels({ paths, found }: ServedPaths, flags: PoolFlags) {
  const models = Math.min(paths.length, flags.maxModels ?? paths.length);
  const budget = { memoryBytes: flags.memory, models };
  const isPinned = ({ name }: NamedPath) => flags.pin?.some((each) => each === '*' || each === name) ?? false;
  const planned: (readonly [name: string, source: ModelSource & Planned])[] = [];
  const faults: string[] = [];
  for (const named of paths)
    try {
      planned.push([named.name, await plannedSource(named, flags, budget, isPinned(named))]);
    } catch (error) {
      if (!(error instanceof QuernError && found.has(named.path))) throw error;
      faults.push(error.message.includes(named.path) ? error.message : `${named.path}: ${error.message}`);
    }
  for (const fault of faults) say(`left out: ${fault}`);
  if (planned.length === 0)
    throw new RuntimeError('MODEL_NOT_FOUND', `none of ${count(paths.length, 'model')} can be served`);
  return planned;
}
