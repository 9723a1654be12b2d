import type { GenerateOptions, PromptCounts } from '@quern/runtime';
import { Pushed } from './pushed.js';
import { type Timings, timings } from './timings.js';
import type { TokenCount, TurnEvent } from './turn.js';

/** How far the computing of a prompt is, as llama.cpp's server says it: tokens, and milliseconds since its start. */
export interface ProgressEvent {
  readonly type: 'progress';
  readonly progress: {
    readonly total: number;
    readonly cache: number;
    readonly processed: number;
    readonly time_ms: number;
  };
}

/** An event of an answer, with the times until then where they are wanted. */
export type WatchedEvent = (TurnEvent & { readonly timings?: Timings }) | ProgressEvent;

/** What a chunk has of it beside its text: llama.cpp's fields. */
export function watchedFields(event: WatchedEvent): object {
  if (event.type === 'progress') return { prompt_progress: event.progress };
  return event.timings ? { timings: event.timings } : {};
}

/** What of a stream a request wants to see: fields of llama.cpp's server. */
export interface WatchFields {
  readonly stream?: boolean | undefined;
  readonly return_progress?: boolean | undefined;
  readonly timings_per_token?: boolean | undefined;
}

type WatchOptions = Pick<GenerateOptions, 'onPrompt' | 'onProgress'>;

/** Watches the generation of one answer. */
export class Watch implements TokenCount {
  private readonly progress = new Pushed<ProgressEvent>();
  private counts: PromptCounts = { promptTokens: 0, cachedTokens: 0 };
  private begin = performance.now();
  private first: number | undefined;
  private tokens = 0;

  constructor(private readonly fields: WatchFields) {}

  /** For the generation. */
  readonly options: WatchOptions = {
    onPrompt: (counts) => {
      this.counts = counts;
      this.begin = performance.now();
      this.show(counts.cachedTokens);
    },
    onProgress: ({ done }) => this.show(done),
  };

  add(tokens: number): void {
    this.first ??= performance.now();
    this.tokens += tokens;
  }

  /** The progress of the prompt, and then the events. */
  async *over(events: AsyncIterable<TurnEvent>): AsyncGenerator<WatchedEvent, void, undefined> {
    const iterator = events[Symbol.asyncIterator]();
    const first = iterator.next();
    const end = () => this.progress.end();
    first.then(end, end);
    try {
      yield* this.progress;
      for (let next = await first; !next.done; next = await iterator.next()) yield this.timed(next.value);
    } finally {
      await iterator.return?.();
    }
  }

  private show(processed: number): void {
    if (!this.fields.return_progress || this.first !== undefined) return;
    const { promptTokens: total, cachedTokens: cache } = this.counts;
    this.progress.push({
      type: 'progress',
      progress: { total, cache, processed, time_ms: performance.now() - this.begin },
    });
  }

  private timed(event: TurnEvent): WatchedEvent {
    if (!this.fields.timings_per_token || event.type === 'end' || this.first === undefined) return event;
    const { promptTokens, cachedTokens } = this.counts;
    return {
      ...event,
      timings: timings({
        cached: cachedTokens,
        computed: promptTokens - cachedTokens,
        promptMs: this.first - this.begin,
        predicted: this.tokens,
        predictedMs: performance.now() - this.first,
      }),
    };
  }
}

/**
 * The events of an answer; with those of its watch, where a stream wants them.
 * @param make begins the answer with the watch's options
 */
export function watched(
  fields: WatchFields,
  make: (options: WatchOptions, watch?: Watch) => AsyncIterable<TurnEvent>,
): AsyncIterable<WatchedEvent> {
  if (!fields.stream || !(fields.return_progress || fields.timings_per_token)) return make({});
  const watch = new Watch(fields);
  return watch.over(make(watch.options, watch));
}
