import type { Embeddings } from '@quern/runtime';
import type { Call, ServerContext } from '../../context.js';
import { badField } from '../../errors.js';
import type { NamedModel } from '../../models.js';
import { ollamaEmbeddingsRequest, ollamaEmbedRequest } from '../../requests/ollama.js';
import { parse, readJson } from '../../requests/parse.js';
import { namingLongTexts } from '../../requests/truncation.js';
import { wholeJson } from '../../whole.js';
import { nanoseconds, ollamaEmbedder, ollamaError } from './form.js';

/** POST /api/embed */
export async function embed(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const start = performance.now();
  const body = parse(ollamaEmbedRequest, await readJson(request), call);
  const served = await ollamaEmbedder(context, call, body);
  const name = body.model ?? served.name;
  const texts = typeof body.input === 'string' ? [body.input].filter((text) => text !== '') : body.input;
  const width = widthOf(body.dimensions, served);
  if (!texts?.length) return Response.json({ model: name, embeddings: [] });
  const found = served.model
    .embed(texts, { truncate: body.truncate ?? true, signal: call.signal })
    .catch(namingLongTexts((index) => (typeof body.input === 'string' ? 'input' : `input.${index}`)));
  const answer = found.then((rows) => {
    if (rows.truncated > 0)
      call.notice(`texts cut off at ${served.model.maxTokens} tokens: ${rows.truncated}`);
    return {
      model: name,
      embeddings: texts.map((_, index) => unit(rowOf(rows, index).subarray(0, width))),
      total_duration: nanoseconds(performance.now() - start),
      load_duration: nanoseconds(served.waitMs),
      prompt_eval_count: rows.tokens,
    };
  });
  return wholeJson(answer, call, ollamaError);
}

/** POST /api/embeddings: one text, as the model gives it. */
export async function embedOne(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(ollamaEmbeddingsRequest, await readJson(request), call);
  const { model } = await ollamaEmbedder(context, call, body);
  if (body.prompt === '') return Response.json({ embedding: [] });
  const found = model
    .embed([body.prompt], { signal: call.signal })
    .catch(namingLongTexts(() => 'prompt'))
    .then(({ values }) => ({ embedding: Array.from(values) }));
  return wholeJson(found, call, ollamaError);
}

/** The first numbers of each embedding. @throws ApiError 400 for more than it has */
function widthOf(dimensions: number | undefined, { name, model }: NamedModel<'embedding'>): number {
  if (dimensions !== undefined && dimensions > model.dimensions)
    throw badField('dimensions', `dimensions is ${dimensions}, but "${name}" has ${model.dimensions}`);
  return dimensions || model.dimensions;
}

const rowOf = ({ values, dimensions }: Pick<Embeddings, 'values' | 'dimensions'>, index: number) =>
  values.subarray(index * dimensions, (index + 1) * dimensions);

/** The vector with length 1; zeros stay zeros. */
function unit(row: Float32Array): number[] {
  const length = Math.hypot(...row) || 1;
  return Array.from(row, (value) => Math.fround(value / length));
}
