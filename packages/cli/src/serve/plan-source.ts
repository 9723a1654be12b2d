import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type LoadOptions, type LoadPlan, planLoad, RuntimeError } from '@quern/runtime';
import { showBytes } from '../terminal/bytes.js';

/** Tokens of context of each request that a model gets at least, where it was trained for as many. */
const leastContext = 4096;

/** The part of its memory that the planner leaves free. */
const spare = 16 / 15;

/** How much memory the models of a server may take. */
export interface Budget {
  readonly memoryBytes: number | undefined;
  /** Models that share it. */
  readonly models: number;
}

/** A plan, and the memory that it was made for. */
export interface PlannedSource {
  readonly plan: LoadPlan;
  /** For `loadModel`; absent: the kind of model has no such option. */
  readonly memoryBytes: number | undefined;
}

/**
 * Plans a model for its share of the memory, so that others fit beside it; with more where the share is too small for the
 * weights and a modest context. Where the caller chose the context, this decides. Rejects as `planLoad`.
 */
export async function planSource(
  path: string,
  options: LoadOptions,
  { memoryBytes, models }: Budget,
): Promise<PlannedSource> {
  const whole = await planWithin(path, options, memoryBytes);
  const most = memoryBytes ?? whole.available;
  if (!whole.plan || options.context !== undefined || models === 1)
    return { plan: whole, memoryBytes: whole.plan && memoryBytes };
  const share = Math.floor(most / models);
  if (whole.bytes <= share) return { plan: whole, memoryBytes: most };
  const limit = Math.min(most, Math.max(share, leanBytes(whole, options)));
  const plan = await planLoad(path, { ...options, memoryBytes: limit });
  return { plan, memoryBytes: limit };
}

/** Rejects as `planLoad`; an error of a model that is too large names the limit. */
async function planWithin(path: string, options: LoadOptions, memoryBytes: number | undefined) {
  if (memoryBytes === undefined) return planLoad(path, options);
  try {
    const plan = await planLoad(path, { ...options, memoryBytes });
    if (plan.bytes <= memoryBytes) return plan;
    throw new RuntimeError('MODEL_TOO_LARGE', `the model is too large: it takes ${showBytes(plan.bytes)}`);
  } catch (error) {
    if (!(error instanceof RuntimeError && tooLarge.includes(error.code))) throw error;
    const message = `${path}: ${error.message}; --memory allows ${showBytes(memoryBytes)}`;
    throw new RuntimeError(error.code, message, { cause: error });
  }
}

const tooLarge: readonly string[] = ['MODEL_TOO_LARGE', 'CONTEXT_TOO_LARGE'];

/** Bytes for the weights and a modest context, and what the planner leaves free. */
function leanBytes({ plan }: LoadPlan, { sequences = 1 }: LoadOptions): number {
  const { memory, room, context } = plan!;
  const tokens = Math.min(room, sequences * Math.min(context, leastContext));
  const cache = tokens * (memory.cache / room);
  return Math.ceil((memory.weights + memory.activations + cache) * spare) + 1;
}

/** Changes with the files of a model. Rejects with RuntimeError MODEL_NOT_FOUND where they are gone. */
export async function stampOf(path: string): Promise<string> {
  const found = await stat(path).catch((cause: unknown) => {
    throw new RuntimeError('MODEL_NOT_FOUND', `${path} is gone since the server started`, { cause });
  });
  if (!found.isDirectory()) return `${found.mtimeMs} ${found.size}`;
  const names = (await readdir(path)).sort();
  const stamps = await Promise.all(names.map(async (name) => [name, await stat(join(path, name))] as const));
  return stamps.map(([name, { mtimeMs, size }]) => `${name} ${mtimeMs} ${size}`).join('\n');
}
