import { Counter, Gauge, type Registry } from 'prom-client';
import type { PooledModel } from './entry.js';
import type { ModelPool } from './pool.js';

type Figures = readonly (readonly [name: string, help: string, of: (model: PooledModel) => number])[];

const gauges: Figures = [
  ['model_loaded', '1: the model is loaded', ({ state }) => (state === 'loaded' ? 1 : 0)],
  ['model_memory_bytes', 'memory that the model takes', ({ counts }) => counts.bytes],
  ['model_waiting_requests', 'requests that wait until the model is loaded', ({ counts }) => counts.waiting],
];

const counters: Figures = [
  ['model_loads_total', 'loads that ended well', ({ counts }) => counts.loads],
  ['model_load_failures_total', 'loads that failed', ({ counts }) => counts.failures],
  ['model_unloads_total', 'models unloaded', ({ counts }) => counts.unloads],
];

/** Counts of a pool, read when the metrics are read. */
export function watchPool(pool: ModelPool, registry: Registry, prefix: string): void {
  const configuration = { labelNames: ['model_name'], registers: [registry] };
  for (const [name, help, of] of gauges)
    new Gauge({
      ...configuration,
      name: `${prefix}${name}`,
      help,
      collect() {
        for (const model of pool.models) this.set({ model_name: model.name }, of(model));
      },
    });
  for (const [name, help, of] of counters)
    new Counter({
      ...configuration,
      name: `${prefix}${name}`,
      help,
      collect() {
        this.reset();
        for (const model of pool.models) this.inc({ model_name: model.name }, of(model));
      },
    });
}
