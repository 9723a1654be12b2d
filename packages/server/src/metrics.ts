import type { EngineStats, Model } from '@quern/runtime';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Figures, watchFigures } from './figures.js';
import { generators } from './offer.js';
import { watchPool } from './pool/metrics.js';
import type { ModelPool } from './pool/pool.js';

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

/** Counts calls of one kind that ended well: their number, their amount, their times. */
export class CallFigures {
  private readonly requests: Counter;
  private readonly amount: Counter;
  private readonly latency: Histogram;

  /** @param unit as in 'tokens', with its help */
  constructor(registry: Registry, kind: string, [unit, help]: readonly [unit: string, help: string]) {
    const labels = { registers: [registry], labelNames: ['model_name'] };
    this.requests = new Counter({ ...labels, name: `${kind}_requests_total`, help: 'finished requests' });
    this.amount = new Counter({ ...labels, name: `${kind}_${unit}_total`, help });
    const name = `${kind}_request_latency_seconds`;
    this.latency = new Histogram({ ...labels, name, help: 'from the request to its end', buckets: seconds });
  }

  /** Begins a call; the function that it returns ends it. */
  begin(model_name: string): (amount: number) => void {
    const begin = performance.now();
    return (amount) => {
      this.requests.inc({ model_name });
      this.amount.inc({ model_name }, amount);
      this.latency.observe({ model_name }, (performance.now() - begin) / 1000);
    };
  }
}

/** Adapters of requests under way, by their names. */
export class AdapterUse {
  private readonly counts = { waiting: new Map<string, number>(), running: new Map<string, number>() };

  /** A request of an adapter waits; `starts` and `ends` say what becomes of it. */
  begin(adapter: string): { starts(): void; ends(): void } {
    let state: keyof typeof this.counts = 'waiting';
    this.add(state, adapter, 1);
    return {
      starts: () => {
        if (state === 'running') return;
        this.add('waiting', adapter, -1);
        state = 'running';
        this.add(state, adapter, 1);
      },
      ends: () => this.add(state, adapter, -1),
    };
  }

  /** Names with commas between, of the adapters among `known`. */
  names(state: 'waiting' | 'running', known: readonly string[]): string {
    return known.filter((name) => this.counts[state].has(name)).join(',');
  }

  private add(state: 'waiting' | 'running', adapter: string, by: number): void {
    const counts = this.counts[state];
    const count = (counts.get(adapter) ?? 0) + by;
    if (count === 0) counts.delete(adapter);
    else counts.set(adapter, count);
  }
}

/** Metrics for Prometheus, under vLLM's names with our prefix, so that dashboards port. */
export class Metrics {
  readonly registry = new Registry();
  /** Fields of requests that no route reads, by name. */
  readonly ignoredFields: Counter<'field'>;
  readonly embedding: CallFigures;
  readonly rerank: CallFigures;
  readonly speech: CallFigures;
  readonly adapters = new AdapterUse();
  private readonly success: Counter;
  private readonly drafted: Counter;
  private readonly accepted: Counter;
  private readonly times: Readonly<
    Record<'first' | 'between' | 'total' | 'prefill' | 'decode' | 'queue', Histogram>
  >;

  /** @param prefix of all names */
  constructor(
    pool: ModelPool,
    private readonly prefix: string,
  ) {
    const calls = (kind: string, unit: readonly [string, string]) =>
      new CallFigures(this.registry, `${prefix}${kind}`, unit);
    this.embedding = calls('embedding', ['tokens', 'tokens of texts']);
    this.rerank = calls('rerank', ['tokens', 'tokens of queries and texts']);
    this.speech = calls('speech', ['audio_seconds', 'seconds of sound']);
    const labels = { registers: [this.registry], labelNames: ['model_name'] };
    const histogram = (name: string, help: string, buckets = seconds) =>
      new Histogram({ ...labels, name: `${prefix}${name}`, help, buckets });
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
      name: `${prefix}request_success_total`,
      help: 'finished requests',
    });
    this.ignoredFields = new Counter({
      registers: [this.registry],
      labelNames: ['field'],
      name: `${prefix}ignored_fields_total`,
      help: 'fields of requests that no route reads',
    });
    const counter = (name: string, help: string) =>
      new Counter({ ...labels, name: `${prefix}${name}`, help });
    this.drafted = counter('spec_decode_num_draft_tokens_total', 'drafted tokens');
    this.accepted = counter('spec_decode_num_accepted_tokens_total', 'drafted tokens that were right');
    this.watch(pool);
    this.describe(pool);
    watchPool(pool, this.registry, prefix);
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

  /** The models' own counts. */
  private watch(pool: ModelPool): void {
    watchFigures(this.registry, this.prefix, { gauges, counters }, function* () {
      for (const [name, model] of generators(pool)) yield [name, model.stats()] as const;
    });
  }

  /** Facts as labels, under vLLM's names. */
  private describe(pool: ModelPool): void {
    const { prefix, adapters } = this;
    const facts = (name: string, help: string, labels: readonly string[], collect: (gauge: Gauge) => void) =>
      new Gauge({
        registers: [this.registry],
        labelNames: ['model_name', ...labels],
        name: `${prefix}${name}`,
        help,
        collect() {
          this.reset();
          collect(this);
        },
      });
    const cache = ['block_size', 'num_gpu_blocks', 'kv_cache_size_tokens', 'cache_dtype'];
    facts('cache_config_info', 'the cache of keys and values', cache, (gauge) => {
      for (const [model_name, model] of generators(pool))
        gauge.set({ model_name, ...configurationOf(model) }, 1);
    });
    const lora = ['max_lora', 'running_lora_adapters', 'waiting_lora_adapters'];
    facts('lora_requests_info', 'adapters of requests; max_lora: loaded ones', lora, (gauge) => {
      for (const [model_name, model] of generators(pool)) {
        const known = model.adapters.map(({ name }) => name);
        const names = {
          running_lora_adapters: adapters.names('running', known),
          waiting_lora_adapters: adapters.names('waiting', known),
        };
        if (known.length > 0)
          gauge.set({ model_name, max_lora: known.length, ...names }, Math.floor(Date.now() / 1000));
      }
    });
  }
}

/** What does not change, as labels. */
function configurationOf(model: Model) {
  const { blocks, blockSize } = model.stats();
  return {
    block_size: blockSize,
    num_gpu_blocks: blocks,
    kv_cache_size_tokens: blocks * blockSize,
    cache_dtype: model.plan.cacheDtype,
  };
}

const gauges: Figures<EngineStats> = [
  ['num_requests_running', 'requests that take part in steps', ({ running }) => running],
  ['num_requests_waiting', 'requests that wait for room in the cache', ({ waiting }) => waiting],
  ['kv_cache_usage_perc', 'used part of the cache, 0 to 1', (s) => 1 - s.freeBlocks / s.blocks],
];

const counters: Figures<EngineStats> = [
  ['prefix_cache_queries_total', 'prompt tokens looked up in the cache', (s) => s.prefixQueries],
  ['prefix_cache_hits_total', 'prompt tokens found in the cache', (s) => s.prefixHits],
  ['prompt_tokens_total', 'prompt tokens', (s) => s.promptTokens],
  ['generation_tokens_total', 'generated tokens', (s) => s.generatedTokens],
  ['num_preemptions_total', 'requests whose room others took for a while', (s) => s.preemptions],
];
