import { Counter, Gauge, type Registry } from 'prom-client';

/** Counts of something of a model. */
export type Figures<Of> = readonly (readonly [name: string, help: string, of: (of: Of) => number])[];

/** Gauges and counters by model, read when the metrics are read. `models`: those that there are then, with their names. */
export function watchFigures<Of>(
  registry: Registry,
  prefix: string,
  { gauges, counters }: { readonly gauges: Figures<Of>; readonly counters: Figures<Of> },
  models: () => Iterable<readonly [name: string, of: Of]>,
): void {
  const configuration = { labelNames: ['model_name'], registers: [registry] };
  for (const [name, help, of] of gauges)
    new Gauge({
      ...configuration,
      name: `${prefix}${name}`,
      help,
      collect() {
        this.reset();
        for (const [model_name, model] of models()) this.set({ model_name }, of(model));
      },
    });
  for (const [name, help, of] of counters)
    new Counter({
      ...configuration,
      name: `${prefix}${name}`,
      help,
      collect() {
        this.reset();
        for (const [model_name, model] of models()) this.inc({ model_name }, of(model));
      },
    });
}
