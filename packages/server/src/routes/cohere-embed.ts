import { randomUUID } from 'node:crypto';
import type { Embedder, Embeddings } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { modelName, notSupported, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { wholeJson } from '../whole.js';
import { embedded, mostInputs, needDimensions, rowsOf, toBase64 } from './embeddings.js';
import { cohereError } from './rerank.js';
import { packedBits, signedBytes } from './vector-types.js';

const text = z.string().min(1);
const part = z.object({ type: z.literal('text', { error: 'images are not supported: give texts' }), text });
const input = z
  .object({ content: z.array(part).length(1, { error: 'an input has one text here' }) })
  .transform(({ content }) => content[0]!.text);

/** What each type of `embedding_types` makes of a vector. */
const writers = {
  float: (row: Float32Array) => Array.from(row),
  int8: signedBytes,
  uint8: (row: Float32Array) => signedBytes(row).map((value) => value + 128),
  binary: (row: Float32Array) => packedBits(row).map((byte) => byte - 128),
  ubinary: packedBits,
  base64: toBase64,
} as const;

type VectorType = keyof typeof writers;
const types = Object.keys(writers) as VectorType[];

/** Names that models give the prompt of an input type, in small letters. */
const promptNames = {
  search_query: ['search_query', 'query'],
  search_document: ['search_document', 'document', 'passage'],
  classification: ['classification'],
  clustering: ['clustering'],
} as const;

type InputType = keyof typeof promptNames;
const inputTypes = Object.keys(promptNames) as InputType[];

const request_ = z.strictObject({
  model: modelName,
  texts: orNull(z.array(text).min(1).max(mostInputs)),
  inputs: orNull(z.array(input).min(1).max(mostInputs)),
  images: notSupported('images'),
  input_type: orNull(z.enum(inputTypes)),
  embedding_types: orNull(z.array(z.enum(types)).min(1)),
  truncate: orNull(z.enum(['NONE', 'END'], { error: 'must be NONE or END: texts are cut off at their end' })),
  max_tokens: orNull(whole(3)),
  output_dimension: orNull(whole(1)),
  priority: z.unknown().optional(),
});

type Body = z.output<typeof request_>;

/** POST /v2/embed, in the form of Cohere's second version */
export async function cohereEmbed(request: Request, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(request_, await readJson(request), call);
  const named = await modelFor(context, call, 'embedding', body);
  needDimensions(body.output_dimension, named, 'output_dimension');
  const [field, texts] = inputOf(body);
  const options = { ...optionsOf(body, named.model), signal: call.signal };
  const found = embedded(context, named, texts, options, field);
  return wholeJson(
    found.then((all) => answerOf(all, texts, body.embedding_types ?? ['float'])),
    call,
    cohereError,
  );
}

/** The texts and their field. @throws ApiError 400 */
function inputOf({ texts, inputs }: Body): readonly [field: string, texts: string[]] {
  if (texts && inputs) throw badField('inputs', 'give texts or inputs, not both');
  if (texts) return ['texts', texts];
  if (inputs) return ['inputs', inputs];
  throw badField('texts', 'give the texts to embed as texts, or as inputs');
}

function optionsOf({ truncate, max_tokens, input_type, output_dimension }: Body, model: Embedder) {
  return {
    dimensions: output_dimension,
    truncate: truncate ? truncate === 'END' : max_tokens !== undefined,
    ...(max_tokens !== undefined && { maxTokens: Math.min(max_tokens, model.maxTokens) }),
    prompt: input_type && promptOf(input_type, model),
  };
}

/** The name of the model's prompt for an input type; undefined where it has none. */
function promptOf(type: InputType, { prompts }: Embedder): string | undefined {
  const names: readonly string[] = promptNames[type];
  return Object.keys(prompts).find((name) => names.includes(name.toLowerCase()));
}

function answerOf(all: Embeddings, texts: readonly string[], wanted: readonly VectorType[]) {
  const rows = rowsOf(all);
  return {
    id: randomUUID(),
    response_type: 'embeddings_by_type',
    embeddings: Object.fromEntries(wanted.map((type) => [type, rows.map((row) => writers[type](row))])),
    texts,
    meta: {
      api_version: { version: '2' },
      billed_units: { input_tokens: all.tokens },
      ...(all.truncated > 0 && {
        warnings: [
          `${all.truncated} of ${texts.length} texts ${all.truncated === 1 ? 'was' : 'were'} cut off`,
        ],
      }),
    },
  };
}
