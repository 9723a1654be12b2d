import { kindOf, type ServedModel } from '../kinds.js';
import type { Changes } from './changes.js';
import type { Entry } from './entry.js';
import { lacksMemory, PoolError } from './error.js';
import { bytesOf } from './facts.js';
import type { PoolRules } from './options.js';
import { fits, freeFrom, victims } from './room.js';
import { showBytes } from './show-bytes.js';

/** Longest time in which a model in use keeps requests for others waiting. */
const maxTurnMs = 60_000;

/** What a load needs of its pool. */
export interface LoadContext {
  readonly entries: readonly Entry[];
  readonly rules: PoolRules;
  readonly changes: Changes;
  /** Unloads under way. */
  readonly unloading: ReadonlySet<Promise<void>>;
  readonly signal: AbortSignal;
  evict(entry: Entry): Promise<void>;
  /** The claims have changed. */
  advance(): void;
}

/** A model that is on its way. */
export interface Loading {
  /** Models that must make way for it. */
  readonly claims: readonly Entry[];
  /** Ends when the model is there, or with the error for all that wait for it. Never rejects. */
  readonly done: Promise<PoolError | undefined>;
}

/**
 * Makes room for a model, and loads it. It gives up where nothing waits for the model any more, unless the load has begun:
 * clients with a short patience that ask again find the model then.
 */
export function bringModel(entry: Entry, context: LoadContext): Loading {
  const claims: Entry[] = [];
  entry.state = 'loading';
  const done = bring(entry, claims, context).then(
    () => undefined,
    (error: unknown) => {
      entry.failed(error);
      return error instanceof PoolError ? error : failure(entry.name, error);
    },
  );
  return { claims, done };
}

const failure = (name: string, cause: unknown): PoolError => {
  const why = cause instanceof Error ? cause.message : String(cause);
  return new PoolError('LOAD_FAILED', `the model "${name}" cannot be loaded: ${why}`, { cause });
};

async function bring(entry: Entry, claims: Entry[], context: LoadContext): Promise<void> {
  const { source } = entry;
  const bytes = (await source.plan?.()) ?? source.bytes ?? 0;
  const hasRoom = await makeRoom(entry, bytes, claims, context);
  claims.length = 0;
  if (!hasRoom) {
    entry.state = 'unloaded';
    return;
  }
  entry.bytes = bytes;
  context.advance();
  await load(entry, bytes, context);
}

/** False: nothing waits for the model any more. @throws PoolError TOO_LARGE, DISPOSED */
async function makeRoom(
  entry: Entry,
  bytes: number,
  claims: Entry[],
  context: LoadContext,
): Promise<boolean> {
  const { entries, rules, changes, unloading, signal } = context;
  for (;;) {
    await Promise.all(unloading);
    if (signal.aborted) throw new PoolError('DISPOSED', 'the pool of models has been disposed');
    if (entry.waiting === 0) return false;
    if (fits(entries, bytes, rules)) return true;
    const gone = victims(entries, bytes, rules);
    if (!gone) throw tooLarge(entry, bytes, context);
    claims.splice(0, claims.length, ...gone);
    context.advance();
    const from = Math.max(...gone.map(freeFrom));
    if (from <= rules.clock.now()) await Promise.all(gone.map((each) => context.evict(each)));
    else await changes.next(from);
  }
}

function tooLarge({ name }: Entry, bytes: number, { entries, rules }: LoadContext): PoolError {
  const pinned = entries.filter((each) => each.pinned && each.state === 'loaded');
  const taken = pinned.reduce((sum, each) => sum + each.bytes, 0);
  const beside = pinned.length > 0 ? `, of which models that stay loaded take ${showBytes(taken)}` : '';
  const limits =
    rules.maxModels === Number.POSITIVE_INFINITY
      ? ''
      : `, for ${rules.maxModels} ${rules.maxModels === 1 ? 'model' : 'models'} at a time`;
  return new PoolError(
    'TOO_LARGE',
    `the model "${name}" takes ${showBytes(bytes)}; the server has ${showBytes(rules.memoryBytes)} for models${beside}${limits}`,
  );
}

async function load(entry: Entry, bytes: number, context: LoadContext): Promise<void> {
  const { signal } = context;
  const { clock } = context.rules;
  const begin = clock.now();
  const model = await loadedOrAlone(entry, context);
  await assertWanted(entry, model, signal);
  entry.bytes = bytes || bytesOf(model);
  const now = clock.now();
  entry.arrived(model, now, Math.min(now - begin, maxTurnMs));
}

/**
 * Others may have taken memory that the limits count on. Where it is short, unused models make way, and the load is tried once
 * more.
 */
async function loadedOrAlone(
  { source }: Entry,
  { entries, signal, evict }: LoadContext,
): Promise<ServedModel> {
  try {
    return await source.load(signal);
  } catch (error) {
    const unused = entries.filter(({ isIdle, pinned }) => isIdle && !pinned);
    if (!lacksMemory(error) || unused.length === 0) throw error;
    await Promise.all(unused.map(evict));
    return await source.load(signal);
  }
}

/** @throws PoolError where the pool is disposed, or the file has become a model of another kind; the model is freed */
async function assertWanted(
  { kind, name, source }: Entry,
  model: ServedModel,
  { aborted }: AbortSignal,
): Promise<void> {
  const found = kindOf(model);
  if (!aborted && found === kind) return;
  await (source.unload ? source.unload(model) : model.dispose());
  if (aborted) throw new PoolError('DISPOSED', 'the pool of models has been disposed');
  throw new PoolError(
    'LOAD_FAILED',
    `the model "${name}" cannot be loaded: its file has become a model for ${found}; it was one for ${kind}`,
  );
}
