import { stringifyJson } from '@quern/runtime';
import type { Call } from '../../context.js';
import { ApiError } from '../../errors.js';
import { generatorFor, modelFor, type NamedModel } from '../../models.js';
import type { HandlerOptions } from '../../options.js';
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

/** What `find` finds. @throws ApiError 404 in Ollama's words: clients look for them before they pull a model */
function found<T>(name: string | undefined, find: () => T): T {
  try {
    return find();
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

export const ollamaGenerator = (
  options: HandlerOptions,
  name: string | undefined,
): NamedModel<'generation'> => found(name, () => generatorFor(options, name));

export const ollamaEmbedder = (options: HandlerOptions, name: string | undefined): NamedModel<'embedding'> =>
  found(name, () => modelFor(options, 'embedding', name));
