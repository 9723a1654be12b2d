import type { Call, WaitForm } from './context.js';
import type { ApiError } from './errors.js';
import { comment, event, eventHeaders, ping } from './sse.js';
import { type StreamForm, streamed } from './streamed.js';

/** What a client of a route reads. */
export interface WaitingRoute {
  readonly path: string;
  /** The body of an error. */
  errorBody(error: ApiError): object;
}

const isAnthropic = (path: string): boolean => /^(\/v1)?\/messages/.test(path);
const isResponses = (path: string): boolean => /^(\/v1)?\/responses/.test(path);

/** An error of a stream that has no event yet, as the route's clients read it. */
function errorEvent({ path, errorBody }: WaitingRoute, error: ApiError): string {
  const body = errorBody(error);
  if (isAnthropic(path)) return event(body, 'error');
  if (!isResponses(path)) return event(body);
  const { code, message, param } = error.body.error;
  return event({ type: 'error', sequence_number: 0, code, message, param, ...error.body }, 'error');
}

const forms: Readonly<Record<WaitForm, (route: WaitingRoute) => StreamForm>> = {
  events: (route) => ({
    headers: eventHeaders,
    keepAlive: isAnthropic(route.path) ? ping : comment,
    onError: (error) => errorEvent(route, error),
  }),
  lines: ({ errorBody }) => ({
    headers: { ...eventHeaders, 'content-type': 'application/x-ndjson' },
    keepAlive: ' ',
    onError: (error) => `${JSON.stringify(errorBody(error))}\n`,
  }),
  json: ({ errorBody }) => ({
    headers: { 'content-type': 'application/json', 'x-accel-buffering': 'no' },
    keepAlive: '\n',
    onError: (error) => JSON.stringify({ ...errorBody(error), status: error.status }),
  }),
  text: () => ({
    headers: { 'content-type': 'text/plain; charset=utf-8', 'x-accel-buffering': 'no' },
    keepAlive: '',
  }),
};

async function* bodyOf(work: Promise<Response>): AsyncGenerator<Uint8Array> {
  const { body } = await work;
  if (body) yield* body;
}

/**
 * The response of a route; where the route waits for its model for longer than `keepAliveMs`, one that begins before it, with
 * signs of life. Errors from then on have no status of their own: they are in the body.
 */
export async function orWaiting(
  work: Promise<Response>,
  call: Call & { readonly longWait: Promise<WaitForm> },
  route: WaitingRoute,
): Promise<Response> {
  const first = await Promise.race([work, call.longWait]);
  if (typeof first !== 'string') return first;
  return streamed(bodyOf(work), call, forms[first](route));
}
