import type { EngineStats } from '@quern/runtime';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { generators, type ServedModels } from './models.js';

const seconds = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160,
];
const betweenTokens = [
  0.001, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.025, 0.03, 0.04, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5,
];

/** What one request of a generation was like. */
export interface RequestFigures {
  readonly model: string;
  readonly reason: string;
  /** Seconds from the request to the first token, between two tokens, and to the end. */
  readonly firstToken: number | undefined;
  readonly betweenTokens: readonly number[];
  readonly total: number;
  /** Seconds of the prompt's computation and of decoding. */
  readonly prefill: number;
  readonly decode: number;
  readonly draftedTokens: number;
  readonly acceptedTokens: number;
}

/** Metrics for Prometheus, under vLLM's names with our prefix, so that dashboards port. */
export class Metrics {
  readonly registry = new Registry();
  /** Fields of requests that no route reads, by name. */
  readonly ignoredFields: Counter<'field'>;
  private readonly success: Counter;
  private readonly drafted: Counter;
  private readonly accepted: Counter;
  private readonly times: Readonly<
    Record<'first' | 'between' | 'total' | 'prefill' | 'decode' | 'queue', Histogram>
  >;

  constructor(models: ServedModels) {
    const labels = { registers: [this.registry], labelNames: ['model_name'] };
    const histogram = (name: string, help: string, buckets = seconds) =>
      new Histogram({ ...labels, name: `quern:${name}`, help, buckets });
    this.times = {
      first: histogram('time_to_first_token_seconds', 'from the request to its first token'),
      between: histogram('inter_token_latency_seconds', 'between two tokens of a request', betweenTokens),
      total: histogram('e2e_request_latency_seconds', 'from the request to its end'),
      queue: histogram('request_queue_time_seconds', 'wait before the prompt is computed'),
      prefill: histogram('request_prefill_time_seconds', 'computation of the prompt'),
      decode: histogram('request_decode_time_seconds', 'computation of the tokens after the first'),
    };
    this.success = new Counter({
      registers: [this.registry],
      labelNames: ['model_name', 'finished_reason'],
      name: 'quern:request_success_total',
      help: 'finished requests',
    });
    this.ignoredFields = new Counter({
      registers: [this.registry],
      labelNames: ['field'],
      name: 'quern:ignored_fields_total',
      help: 'fields of requests that no route reads',
    });
    const counter = (name: string, help: string) => new Counter({ ...labels, name: `quern:${name}`, help });
    this.drafted = counter('spec_decode_num_draft_tokens_total', 'drafted tokens');
    this.accepted = counter('spec_decode_num_accepted_tokens_total', 'drafted tokens that were right');
    this.watch(models);
  }

  record(figures: RequestFigures): void {
    const label = { model_name: figures.model };
    const { first, between, total, prefill, decode, queue } = this.times;
    if (figures.firstToken !== undefined) {
      first.observe(label, figures.firstToken);
      queue.observe(label, Math.max(0, figures.firstToken - figures.prefill));
    }
    for (const each of figures.betweenTokens) between.observe(label, each);
    total.observe(label, figures.total);
    prefill.observe(label, figures.prefill);
    decode.observe(label, figures.decode);
    this.drafted.inc(label, figures.draftedTokens);
    this.accepted.inc(label, figures.acceptedTokens);
    this.success.inc({ ...label, finished_reason: figures.reason });
  }

  /** Reads the models' own counts when the metrics are read. */
  private watch(models: ServedModels): void {
    const configuration = { labelNames: ['model_name'], registers: [this.registry] };
    for (const [name, help, of] of gauges)
      new Gauge({
        ...configuration,
        name: `quern:${name}`,
        help,
        collect() {
          for (const [model_name, model] of generators(models)) this.set({ model_name }, of(model.stats()));
        },
      });
    for (const [name, help, of] of counters)
      new Counter({
        ...configuration,
        name: `quern:${name}`,
        help,
        collect() {
          this.reset();
          for (const [model_name, model] of generators(models)) this.inc({ model_name }, of(model.stats()));
        },
      });
  }
}

type Figures = readonly (readonly [name: string, help: string, of: (stats: EngineStats) => number])[];

const gauges: Figures = [
  ['num_requests_running', 'requests that take part in steps', ({ running }) => running],
  ['num_requests_waiting', 'requests that wait for room in the cache', ({ waiting }) => waiting],
  ['kv_cache_usage_perc', 'used part of the cache, 0 to 1', (s) => 1 - s.freeBlocks / s.blocks],
];

const counters: Figures = [
  ['prefix_cache_queries_total', 'prompt tokens looked up in the cache', (s) => s.prefixQueries],
  ['prefix_cache_hits_total', 'prompt tokens found in the cache', (s) => s.prefixHits],
  ['prompt_tokens_total', 'prompt tokens', (s) => s.promptTokens],
  ['generation_tokens_total', 'generated tokens', (s) => s.generatedTokens],
  ['num_preemptions_total', 'requests whose room others took for a while', (s) => s.preemptions],
];
