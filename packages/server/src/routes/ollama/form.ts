import { stringifyJson } from '@quern/runtime';
import type { Call, ServerContext } from '../../context.js';
import { ApiError } from '../../errors.js';
import { generatorFor, modelFor, type NamedModel } from '../../models.js';
import { streamed } from '../../streamed.js';

/** An error in Ollama's form. */
export const ollamaError = ({ message }: ApiError) => ({ error: message });

/** A value of a stream. */
export const line = (value: object): string => `${stringifyJson(value)}\n`;

const headers = {
  'content-type': 'application/x-ndjson',
  'cache-control': 'no-cache',
  'x-accel-buffering': 'no',
};

/** A response of JSON values, one a line. A space before a value is a sign of life: clients refuse empty lines. */
export const lineStream = (lines: AsyncIterable<string>, call: Call): Response =>
  streamed(lines, call, { headers, keepAlive: ' ', onError: (error) => line(ollamaError(error)) });

/** A time of Ollama's answers. */
export const nanoseconds = (ms: number): number => Math.round(ms * 1e6);

/** What `find` finds. Rejects with ApiError 404 in Ollama's words: clients look for them before they pull a model. */
export async function found<T>(name: string | undefined, find: () => Promise<T>): Promise<T> {
  try {
    return await find();
  } catch (error) {
    throw error instanceof ApiError && error.code === 'model_not_found' ? notFound(name) : error;
  }
}

export const notFound = (name: string | undefined): ApiError =>
  new ApiError(404, `model "${name}" not found, try pulling it first`, 'model', 'model_not_found');

/** The answer to a request that would change the models of the server. */
export const modelsAreFixed = (status: 400 | 404, what: string): ApiError =>
  new ApiError(
    status,
    `${what}: the models of this server are chosen when it starts`,
    'model',
    'fixed_models',
  );

/** What Ollama's routes read of a request to find its model. */
interface OllamaRequest {
  readonly model?: string | undefined;
  readonly stream?: boolean | undefined;
  /** How long the model stays after the request, in milliseconds. */
  readonly keep_alive?: number | undefined;
}

/** A model that stays as long as the request says. */
async function kept<T extends NamedModel<'generation' | 'embedding'>>(
  found: Promise<T>,
  { keep_alive }: OllamaRequest,
): Promise<T> {
  const served = await found;
  if (keep_alive !== undefined) served.keepFor(keep_alive);
  return served;
}

/** A response is a stream unless the client says otherwise. */
export const ollamaGenerator = (
  context: ServerContext,
  call: Call,
  body: OllamaRequest,
): Promise<NamedModel<'generation'>> => {
  const { model, stream } = body;
  const form = stream === false ? 'json' : 'lines';
  return kept(
    found(model, () => generatorFor(context, call, { model }, form)),
    body,
  );
};

export const ollamaEmbedder = (
  context: ServerContext,
  call: Call,
  body: OllamaRequest,
): Promise<NamedModel<'embedding'>> => {
  const { model } = body;
  return kept(
    found(model, () => modelFor(context, call, 'embedding', { model }, 'json')),
    body,
  );
};
