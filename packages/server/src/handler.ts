import { QuernError } from '@quern/core';
import { type Context, Hono, type Next } from 'hono';
import { requestId } from 'hono/request-id';
import { Access } from './access.js';
import { Bodies, type Body, needPlainBody } from './body-limit.js';
import { Calls, type RoutedCall } from './calls.js';
import type { Call, ServerContext } from './context.js';
import { ApiError, toApiError } from './errors.js';
import { guardOf } from './guard.js';
import { Metrics } from './metrics.js';
import { generators, type Offer } from './offer.js';
import {
  defaults,
  type HandlerOptions,
  handlerSchema,
  needDrainTime,
  needOptions,
  poolOf,
} from './options.js';
import { Origins } from './origins.js';
import { Paths } from './paths.js';
import { IgnoredFields } from './requests/ignored-fields.js';
import { loadAdapter, unloadAdapter } from './routes/adapters.js';
import { anthropicError, isAnthropic } from './routes/anthropic-error.js';
import { audio } from './routes/audio.js';
import { chatCompletions } from './routes/chat-completions.js';
import { completions } from './routes/completions.js';
import { embeddings } from './routes/embeddings.js';
import { countTokens, messages } from './routes/messages.js';
import { listModels, showModel } from './routes/models.js';
import { addOllamaRoutes, ollamaError, ollamaRoutes } from './routes/ollama/index.js';
import { pageFile, root } from './routes/page.js';
import { peerInputs, peerRoutes } from './routes/peers.js';
import { loadByHand, unloadByHand } from './routes/pool.js';
import { props, slots } from './routes/props.js';
import { refusal } from './routes/refused.js';
import { cohereError, rerank } from './routes/rerank.js';
import { countInputTokens, responses } from './routes/responses.js';
import { addStoredResponses } from './routes/stored-responses.js';
import { info } from './routes/tei-info.js';
import { detokenize, tokenize } from './routes/tokens.js';
import { beginSpan, endSpan, findTracer } from './spans.js';
import { StoredAnswers } from './stored-answers.js';
import { orWaiting } from './waiting.js';

/** Answers a request. The response of a stream calls `call.end` itself. */
type Route = (request: Request, context: ServerContext, call: Call) => Promise<Response>;

const routes: Readonly<Record<string, Route>> = {
  '/v1/chat/completions': chatCompletions,
  '/v1/completions': completions,
  '/v1/responses': responses,
  '/v1/responses/input_tokens': countInputTokens,
  '/v1/messages': messages,
  '/v1/messages/count_tokens': countTokens,
  '/v1/embeddings': embeddings,
  '/v1/rerank': rerank,
  '/tokenize': tokenize,
  '/detokenize': detokenize,
  '/models/load': loadByHand,
  '/models/unload': unloadByHand,
  ...ollamaRoutes,
  ...peerRoutes,
};

/** The field with the prompt or the texts, where it is not `messages`. */
const inputs: Readonly<Record<string, string>> = {
  '/v1/completions': 'prompt',
  '/v1/responses': 'input',
  '/v1/responses/input_tokens': 'input',
  '/v1/embeddings': 'input',
  '/v1/rerank': 'documents',
  '/tokenize': 'prompt',
  '/detokenize': 'tokens',
  ...peerInputs,
};

const audioRoutes: Readonly<Record<string, Route>> = {
  '/v1/audio/transcriptions': audio('transcribe'),
  '/v1/audio/translations': audio('translate'),
};

/** Only where the server has a folder of adapters. */
const adapterRoutes: Readonly<Record<string, Route>> = {
  '/v1/load_lora_adapter': loadAdapter,
  '/v1/unload_lora_adapter': unloadAdapter,
};

/** The API over some models, as a function of requests: it mounts in Hono, Express, Next … */
export interface Handler {
  readonly fetch: (request: Request) => Promise<Response>;
  /** Requests under way. */
  readonly running: number;
  /**
   * Refuses new requests with 503 and waits for those under way; after `ms` milliseconds (default 30 s) they are
   * aborted.
   * @throws RuntimeError BAD_ARGUMENT for another `ms` than whole milliseconds
   */
  drain(ms?: number): Promise<void>;
}

/** @throws RuntimeError BAD_OPTION, also where a model cannot have the drafts of `speculate` */
export function createHandler(options: HandlerOptions): Handler {
  needOptions('createHandler', options, handlerSchema);
  return handlerOf(options);
}

/**
 * @param options checked
 * @param listensOn what `serve` listens on
 */
export function handlerOf(options: HandlerOptions, listensOn?: string | readonly string[]): Handler {
  const { models, aliases, anyModel, speculate } = options;
  const offer: Offer = { pool: poolOf(models), aliases, anyModel };
  if (speculate) for (const [, model] of generators(offer.pool)) model.needSpeculation(speculate);
  const { storedAnswers = defaults.storedAnswers, storedAnswerBytes = defaults.storedAnswerBytes } = options;
  const context: ServerContext = {
    options,
    offer,
    metrics: new Metrics(offer.pool, options.metricsPrefix ?? defaults.metricsPrefix),
    tracer: findTracer(),
    answers: new StoredAnswers(storedAnswers, storedAnswerBytes),
  };
  const paths = new Paths(offer.pool, options.adapterFolder);
  const calls = new Calls(options.requests ?? defaults.requests, {
    requestMs: options.requestMs ?? defaults.requestMs,
    keepAliveMs: options.keepAliveMs ?? defaults.keepAliveMs,
    strict: options.strict ?? false,
    paths,
    ignored: new IgnoredFields(context.metrics.ignoredFields, options.log),
  });
  const app = appOf(context, calls, paths, listensOn);
  return {
    fetch: async (request) => app.fetch(request),
    get running() {
      return calls.count;
    },
    drain: async (ms = defaults.drainMs) => {
      needDrainTime(ms);
      await calls.drain(ms);
    },
  };
}

/** Longest id of a request that a client gives. */
const mostId = 128;

/** The id of a request in its response; Anthropic's clients read it under another name. */
async function sayId(c: Context, next: Next): Promise<void> {
  await next();
  c.res.headers.set('x-request-id', c.get('requestId'));
  if (c.req.path.startsWith('/v1/messages')) c.res.headers.set('request-id', c.get('requestId'));
}

function appOf(
  context: ServerContext,
  calls: Calls,
  paths: Paths,
  listensOn: string | readonly string[] | undefined,
): Hono {
  const { options, metrics } = context;
  const access = new Access(options.apiKeys);
  const app = new Hono();
  app.use(requestId({ limitLength: mostId }), sayId);
  const origins = new Origins(options.cors);
  app.use(guardOf(options, origins, listensOn));
  if (options.cors !== undefined) app.use(origins.middleware());
  const hasPage = options.page ?? true;
  app.get('/', (c) => root(c, hasPage));
  if (hasPage) app.get('/page/:file', (c) => pageFile(c.req.param('file')));
  app.get('/health', () => Response.json({ status: 'ok' }));
  app.get('/ready', () => Response.json({ ready: calls.isReady }, { status: calls.isReady ? 200 : 503 }));
  app.use(async (c, next) => {
    access.need(c.req.raw.headers);
    await next();
  });
  app.get('/metrics', async () => {
    const headers = { 'content-type': metrics.registry.contentType };
    return new Response(await metrics.registry.metrics(), { headers });
  });
  app.get('/v1/models', (c) => listModels(c, context));
  app.get('/models', (c) => listModels(c, context));
  app.get('/props', (c) => props(c.req.raw, context));
  app.get('/slots', (c) => slots(c.req.raw, context));
  app.get('/info', (c) => info(c.req.raw, context));
  app.get('/v1/models/*', (c) => showModel(c, context));
  addOllamaRoutes(app, context);
  app.get('/models/*', (c) => showModel(c, context));
  const {
    bodyBytes = defaults.bodyBytes,
    audioBytes = defaults.audioBytes,
    totalBodyBytes = defaults.totalBodyBytes,
    bodyMs = defaults.bodyMs,
  } = options;
  const bodies = new Bodies({ ms: bodyMs, total: totalBodyBytes, closing: calls.closing });
  const upTo = (most: number) => () => bodies.open(most);
  for (const [path, route] of Object.entries(routes))
    app.post(path, answerBy(route, context, calls, upTo(bodyBytes)));
  for (const [path, route] of Object.entries(options.adapterFolder === undefined ? {} : adapterRoutes))
    app.post(path, answerBy(route, context, calls, upTo(bodyBytes)));
  for (const [path, route] of Object.entries(audioRoutes))
    app.post(path, answerBy(route, context, calls, upTo(audioBytes)));
  addStoredResponses(app, context);
  app.notFound((c) => notFound(app, c));
  app.onError((error, c) => respond(toApiError(error, paths), c));
  return app;
}

function answerBy(route: Route, context: ServerContext, calls: Calls, openBody: () => Body) {
  return async (c: Context): Promise<Response> => {
    const begin = performance.now();
    let status = 200;
    const { method, path } = c.req;
    const body = openBody();
    const note = (call: Call) => {
      body.release();
      endSpan(span, status, call.signal.aborted);
      context.options.log?.(
        entryOf(call, { method, path, status, ms: Math.round(performance.now() - begin) }),
      );
    };
    const call = calls.open(c.get('requestId'), c.req.raw.signal, note, inputs[path]);
    const span = beginSpan(await context.tracer, method, path);
    try {
      calls.needReady();
      needPlainBody(c.req.raw);
      const request = await body.readOf(c.req.raw);
      calls.begin(call);
      const errorBody = (error: ApiError) => bodyOf(error, c.req.raw, path, call.id);
      const response = await orWaiting(route(request, context, call), call, { path, errorBody });
      status = response.status;
      const notice = headerOf(call);
      if (notice !== '') response.headers.set('x-quern-notice', notice);
      call.answered();
      return response;
    } catch (error) {
      const response = respond(call.explain(error), c);
      status = response.status;
      call.end();
      return response;
    }
  };
}

/** A line of the log, written when the response has been sent. Errors that nobody foresaw have their stack. */
function entryOf({ id, failure, signal, notices }: Call, figures: object): Readonly<Record<string, unknown>> {
  const isOwn = failure instanceof ApiError || failure instanceof QuernError;
  const error = isOwn ? failure.message : ((failure as Error | undefined)?.stack ?? failure);
  return {
    time: new Date().toISOString(),
    id,
    ...figures,
    ...(signal.aborted && { aborted: true }),
    ...(failure !== undefined && { error }),
    ...(notices.size > 0 && { notices: [...notices] }),
  };
}

const mostHeader = 2000;

/** Headers hold ASCII. */
const headerOf = ({ notices, ignored }: RoutedCall): string =>
  [...notices, ...(ignored.length > 0 ? [`ignored fields: ${ignored.join(', ')}`] : [])]
    .join('; ')
    .slice(0, mostHeader)
    .replace(/[^ -~]/g, '?');

/** The routes of Anthropic, Ollama and Cohere have errors of their own form, and so do all others for Anthropic's client. */
const respond = (error: ApiError, c: Context): Response => {
  const body = bodyOf(error, c.req.raw, c.req.path, c.get('requestId'));
  return Response.json(body, { status: error.status, headers: error.headers });
};

function bodyOf(error: ApiError, request: Request, path: string, id: string): object {
  if (path.startsWith('/api/')) return ollamaError(error);
  if (path.startsWith('/v2/')) return cohereError(error);
  return /^(\/v1)?\/messages/.test(path) || isAnthropic(request) ? anthropicError(error, id) : error.body;
}

const methods = ['GET', 'POST', 'DELETE'];

/** 405 with the methods that there are, or 404. */
function notFound(app: Hono, c: Context): Response {
  const { method, path } = c.req;
  const known = methods.filter((each) =>
    app.router.match(each, path)[0].some(([[, route]]) => route.method === each),
  );
  if (known.length === 0)
    return respond(refusal(c) ?? new ApiError(404, `there is no ${path} here`, null, 'unknown_route'), c);
  const allow = known.map((each) => (each === 'GET' ? 'GET, HEAD' : each)).join(', ');
  const message = `${path} has no ${method}: send ${allow}`;
  const response = respond(new ApiError(405, message, null, 'method_not_allowed'), c);
  response.headers.set('allow', allow);
  return response;
}
