import type { Registry } from 'prom-client';
import { type Figures, watchFigures } from '../figures.js';
import type { PooledModel } from './entry.js';
import type { ModelPool } from './pool.js';

const gauges: Figures<PooledModel> = [
  ['model_loaded', '1: the model is loaded', ({ state }) => (state === 'loaded' ? 1 : 0)],
  ['model_memory_bytes', 'memory that the model takes', ({ counts }) => counts.bytes],
  ['model_waiting_requests', 'requests that wait until the model is loaded', ({ counts }) => counts.waiting],
];

const counters: Figures<PooledModel> = [
  ['model_loads_total', 'loads that ended well', ({ counts }) => counts.loads],
  ['model_load_failures_total', 'loads that failed', ({ counts }) => counts.failures],
  ['model_unloads_total', 'models unloaded', ({ counts }) => counts.unloads],
];

/** Counts of a pool, read when the metrics are read. */
export const watchPool = (pool: ModelPool, registry: Registry, prefix: string): void =>
  watchFigures(registry, prefix, { gauges, counters }, () =>
    pool.models.map((model) => [model.name, model] as const),
  );
