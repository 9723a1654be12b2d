import { z } from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { harmless, modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';

const request_ = z.strictObject({
  ...harmless,
  model: modelName,
  input: z.union([z.string().min(1), z.array(z.string().min(1)).min(1).max(2048)], {
    error: 'must be a text, or a list of up to 2048 texts; token ids are not supported',
  }),
  encoding_format: orNull(z.enum(['float', 'base64'])),
  dimensions: orNull(whole(1)),
  prompt: orNull(z.string()),
});

/** POST /v1/embeddings */
export async function embeddings(
  request: Request,
  { options }: ServerContext,
  { signal }: Call,
): Promise<Response> {
  const body = parse(request_, await readJson(request));
  const { name, model } = modelFor(options.models, 'embedding', body.model);
  if (body.dimensions !== undefined && body.dimensions !== model.dimensions)
    throw badField('dimensions', `"${name}" has ${model.dimensions} dimensions; they cannot be changed`);
  const texts = typeof body.input === 'string' ? [body.input] : body.input;
  const { values, dimensions, tokens } = await model.embed(texts, { signal, prompt: body.prompt });
  const write = body.encoding_format === 'base64' ? toBase64 : (row: Float32Array) => Array.from(row);
  const data = texts.map((_, index) => ({
    object: 'embedding',
    index,
    embedding: write(values.subarray(index * dimensions, (index + 1) * dimensions)),
  }));
  const usage = { prompt_tokens: tokens, total_tokens: tokens };
  return Response.json({ object: 'list', data, model: name, usage });
}

/** Little-endian f32: openai-node asks for this where its caller names no encoding. */
const toBase64 = (row: Float32Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('base64');
