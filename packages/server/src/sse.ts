import { stringifyJson } from '@quern/runtime';
import type { Call } from './context.js';
import type { ApiError } from './errors.js';
import { streamed } from './streamed.js';

export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : stringifyJson(data)}\n\n`;

/** An error of a stream that has begun, as an event. */
export type ErrorEvent = (error: ApiError) => string;

const openAiError: ErrorEvent = (error) => event(error.body);

/** What clients skip, by the standard of server-sent events. */
export const comment = ': keep-alive\n\n';

/** Anthropic's event for a stream in which nothing happens. */
export const ping = event({ type: 'ping' }, 'ping');

export const eventHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/**
 * A response of server-sent events.
 * @param keepAlive written while no event comes: see `HandlerOptions.keepAliveMs`
 */
export const eventStream = (
  events: AsyncIterable<string>,
  call: Call,
  onError: ErrorEvent = openAiError,
  keepAlive = comment,
): Response => streamed(events, call, { headers: eventHeaders, onError, keepAlive });
