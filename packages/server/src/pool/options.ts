import { checkOptions, type Rule, rules, type Schema } from '@quern/core';
import { RuntimeError } from '@quern/runtime';
import { type Clock, systemClock } from './clock.js';
import { showBytes } from './show-bytes.js';
import type { ModelSource } from './source.js';

export interface ModelPoolOptions {
  /** The models, by the names that clients use. */
  readonly models: Readonly<Record<string, ModelSource>>;
  /** Most bytes of the loaded models together, by their `bytes`. Default: no limit. */
  readonly memoryBytes?: number | undefined;
  /** Most models that are loaded at a time. Default: no limit. */
  readonly maxModels?: number | undefined;
  /**
   * Milliseconds without a request after which a model is unloaded; 0: at once; `Infinity`: only where another model
   * needs the room. Default 5 minutes.
   */
  readonly idleMs?: number | undefined;
  /** Receives the error of a model's `unload`, which counts as unloaded. Default: it is ignored. */
  readonly onError?: ((error: unknown, name: string) => void) | undefined;
  /** Default: the machine's time. */
  readonly clock?: Clock | undefined;
}

const sources: Rule<Readonly<Record<string, ModelSource>>> = {
  must: 'an object of sources ({ kind, load }) by their names',
  holds: (value): value is Readonly<Record<string, ModelSource>> =>
    rules.isObject(value) && !Array.isArray(value) && Object.values(value).every(isSource),
};

const kinds: readonly unknown[] = ['generation', 'embedding', 'speech'];

const isSource = (value: unknown): boolean =>
  rules.isObject(value) && kinds.includes(value.kind) && typeof value.load === 'function';

const idleTime: Rule<number> = {
  must: 'milliseconds, at least 0; Infinity: never',
  holds: (value): value is number => typeof value === 'number' && value >= 0,
};

const clock: Rule<Clock> = {
  must: 'a clock ({ now, after })',
  holds: (value): value is Clock =>
    rules.isObject(value) && typeof value.now === 'function' && typeof value.after === 'function',
};

const schema = {
  models: { ...sources, about: 'the models, by the names that clients use', required: true },
  memoryBytes: { ...rules.whole(1), about: 'most bytes of the loaded models together', absent: 'no limit' },
  maxModels: { ...rules.whole(1), about: 'most models that are loaded at a time', absent: 'no limit' },
  idleMs: {
    ...idleTime,
    about: 'milliseconds without a request after which a model is unloaded',
    byDefault: 300_000,
  },
  onError: { ...rules.callback, about: 'receives the error of an unload', absent: 'it is ignored' },
  clock: { ...clock, about: 'the time', absent: "the machine's" },
} as const satisfies Schema<ModelPoolOptions>;

/** The options with their defaults. */
export interface PoolRules {
  readonly memoryBytes: number;
  readonly maxModels: number;
  readonly idleMs: number;
  readonly clock: Clock;
  readonly onError: (error: unknown, name: string) => void;
}

const badOption = (message: string) => new RuntimeError('BAD_OPTION', message);

/** @throws RuntimeError BAD_OPTION, also for limits that no model, or not all pinned ones, fit in */
export function rulesOf(options: ModelPoolOptions): PoolRules {
  checkOptions('ModelPool', options, schema, badOption);
  const {
    memoryBytes = Number.POSITIVE_INFINITY,
    maxModels = Number.POSITIVE_INFINITY,
    idleMs = schema.idleMs.byDefault,
    clock: own = systemClock,
    onError = () => {},
  } = options;
  assertRoom(options.models, memoryBytes);
  assertPinnedFit(options.models, memoryBytes, maxModels);
  return { memoryBytes, maxModels, idleMs, clock: own, onError };
}

/** @throws RuntimeError BAD_OPTION where not even the smallest model fits */
function assertRoom(models: ModelPoolOptions['models'], memoryBytes: number): void {
  const sizes = Object.entries(models).map(([name, { bytes = 0 }]) => [name, bytes] as const);
  const [smallest] = sizes.sort(([, a], [, b]) => a - b);
  if (!smallest || smallest[1] <= memoryBytes) return;
  throw badOption(
    `[ModelPool] memoryBytes is ${showBytes(memoryBytes)}, which no model fits in: the smallest one, "${smallest[0]}", takes ` +
      `${showBytes(smallest[1])} with its cache. Give more memory, a shorter context, or a smaller model`,
  );
}

/** @throws RuntimeError BAD_OPTION */
function assertPinnedFit(models: ModelPoolOptions['models'], memoryBytes: number, maxModels: number): void {
  const pinned = Object.entries(models).filter(([, each]) => each.pinned);
  const bytes = pinned.reduce((sum, [, each]) => sum + (each.bytes ?? 0), 0);
  const names = pinned.map(([name]) => name).join(', ');
  if (bytes > memoryBytes)
    throw badOption(
      `[ModelPool] memoryBytes is ${showBytes(memoryBytes)}, but the pinned models (${names}) take ${showBytes(bytes)}: pin fewer`,
    );
  if (pinned.length > maxModels)
    throw badOption(
      `[ModelPool] maxModels is ${maxModels}, but ${pinned.length} models are pinned (${names}): pin fewer`,
    );
}
