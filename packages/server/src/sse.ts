import { stringifyJson } from '@quern/runtime';
import type { Call } from './context.js';
import type { ApiError } from './errors.js';

/** Most bytes that wait for a slow client; the generation pauses then. */
const mostWaiting = 64 << 10;

const encoder = new TextEncoder();

export const event = (data: unknown, name?: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${typeof data === 'string' ? data : stringifyJson(data)}\n\n`;

/** An error of a stream that has begun, as an event. */
export type ErrorEvent = (error: ApiError) => string;

const openAiError: ErrorEvent = (error) => event(error.body);

/**
 * A response of server-sent events. The events are made as fast as they come, so that a slow client does not hold the
 * step of the others; beyond `mostWaiting` bytes they wait for the client. Where the client is gone, the call is
 * aborted.
 */
export function eventStream(
  events: AsyncIterable<string>,
  call: Call,
  onError: ErrorEvent = openAiError,
): Response {
  let resume = (): void => {};
  let cancelled = false;
  const pump = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    try {
      for await (const text of events) {
        if (cancelled) return;
        controller.enqueue(encoder.encode(text));
        if ((controller.desiredSize ?? 0) <= 0)
          await new Promise<void>((resolve) => {
            resume = resolve;
          });
      }
    } catch (error) {
      if (!cancelled) controller.enqueue(encoder.encode(onError(call.explain(error))));
    } finally {
      if (!cancelled) controller.close();
      call.end();
    }
  };
  const source = {
    start(controller: ReadableStreamDefaultController<Uint8Array>) {
      void pump(controller);
    },
    pull() {
      resume();
    },
    cancel() {
      cancelled = true;
      call.abort();
      resume();
    },
  };
  const size = (chunk?: Uint8Array) => chunk?.length ?? 0;
  return new Response(new ReadableStream(source, { highWaterMark: mostWaiting, size }), {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
    },
  });
}
