import type { Call, ServerContext } from '../../context.js';
import { ollamaEmbeddingsRequest, ollamaEmbedRequest } from '../../requests/ollama.js';
import { parse, readJson } from '../../requests/parse.js';
import { namingLongTexts } from '../../requests/truncation.js';
import { wholeJson } from '../../whole.js';
import { needDimensions, rowsOf } from '../embeddings.js';
import { nanoseconds, ollamaEmbedder, ollamaError } from './form.js';

/** POST /api/embed */
export async function embed(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const start = performance.now();
  const body = parse(ollamaEmbedRequest, await readJson(request), call);
  const served = await ollamaEmbedder(context, call, body);
  const name = body.model ?? served.name;
  const texts = typeof body.input === 'string' ? [body.input].filter((text) => text !== '') : body.input;
  const dimensions = body.dimensions || undefined; // 0: all, as in Ollama
  needDimensions(dimensions, served);
  if (!texts?.length) return Response.json({ model: name, embeddings: [] });
  const found = served.model
    .embed(texts, { truncate: body.truncate ?? true, dimensions, signal: call.signal })
    .catch(namingLongTexts((index) => (typeof body.input === 'string' ? 'input' : `input.${index}`)));
  const answer = found.then((rows) => {
    if (rows.truncated > 0)
      call.notice(`texts cut off at ${served.model.maxTokens} tokens: ${rows.truncated}`);
    return {
      model: name,
      embeddings: rowsOf(rows).map(unit),
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

/** The vector with length 1; zeros stay zeros. */
function unit(row: Float32Array): number[] {
  const length = Math.hypot(...row) || 1;
  return Array.from(row, (value) => Math.fround(value / length));
}
