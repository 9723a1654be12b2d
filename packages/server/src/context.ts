import type { Tracer } from '@opentelemetry/api';
import type { ApiError } from './errors.js';
import type { Metrics } from './metrics.js';
import type { Offer } from './offer.js';
import type { HandlerOptions } from './options.js';
import type { ModelLease } from './pool/pool.js';
import type { StoredAnswers } from './stored-answers.js';

/** What every route knows. */
export interface ServerContext {
  /** For spans, where the application has OpenTelemetry. */
  readonly tracer: Promise<Tracer | undefined>;
  readonly options: HandlerOptions;
  /** The models, and the names that clients have for them. */
  readonly offer: Offer;
  readonly metrics: Metrics;
  /** Answers that later requests refer to. */
  readonly answers: StoredAnswers;
}

/** How a response is written that begins before its model is loaded: events, JSON values by lines, one JSON value, a text. */
export type WaitForm = 'events' | 'lines' | 'json' | 'text';

/** A request under way. */
export interface Call {
  /** Aborts where the client is gone, the time is over, or a stream is left. */
  readonly signal: AbortSignal;
  abort(): void;
  /** Milliseconds between signs of life while nothing is generated; 0: none. */
  readonly keepAliveMs: number;
  /** The response is a stream, which calls `end` itself. */
  streams(): void;
  /** Called when a stream has ended; a response without a stream ends by itself. */
  end(): void;
  /**
   * Waits for a model. The time of the request does not run meanwhile; after a long wait its response begins, in this form.
   */
  waitFor<T>(work: Promise<T>, form: WaitForm): Promise<T>;
  /** The model in use; released when the request has ended. */
  hold(lease: ModelLease): void;
  readonly id: string;
  /** The error that ended the request. */
  readonly failure: unknown;
  /** What of the request is ignored. */
  readonly notices: ReadonlySet<string>;
  readonly notice: (text: string) => void;
  /** Fields that no route reads are refused; otherwise they are ignored. */
  readonly strict: boolean;
  /** Counts fields that are ignored, and names them in the response's header. */
  ignore(fields: readonly string[]): void;
  /** An error of this request as its client may see it: an abort by the clock is not the client's. */
  explain(error: unknown): ApiError;
}
