import type { Embedder, Embeddings, EmbedInput, EmbedOptions } from '@quern/runtime';
import * as z from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor, type NamedModel } from '../models.js';
import { harmless, modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { namingLongTexts, truncatedTexts, truncationFields, truncationOf } from '../requests/truncation.js';
import { wholeJson } from '../whole.js';

const text = z.string().min(1);
/** Most inputs of a request. */
export const mostInputs = 2048;

/** Texts, or token ids. */
export const inputField = z.union(
  [
    text,
    z.array(text).min(1).max(mostInputs),
    z.array(whole(0)).min(1),
    z
      .array(z.array(whole(0)).min(1))
      .min(1)
      .max(mostInputs),
  ],
  { error: `must be a text, token ids, or a list of up to ${mostInputs} of either` },
);

type Input = z.output<typeof inputField>;

const request_ = z.strictObject({
  ...harmless,
  model: modelName,
  input: inputField,
  encoding_format: orNull(z.enum(['float', 'base64'])),
  dimensions: orNull(whole(1)),
  prompt: orNull(z.string()),
  ...truncationFields,
});

/** POST /v1/embeddings */
export async function embeddings(request: Request, context: ServerContext, call: Call): Promise<Response> {
  return openAiEmbeddings(await readJson(request), context, call);
}

/** The response in OpenAI's form. */
export async function openAiEmbeddings(json: unknown, context: ServerContext, call: Call): Promise<Response> {
  const body = parse(request_, json, call);
  const named = await modelFor(context, call, 'embedding', body);
  needDimensions(body.dimensions, named);
  const lengths = truncationOf(body, named.model);
  const { prompt, dimensions } = body;
  const options = { ...lengths, signal: call.signal, prompt, dimensions };
  const found = embedded(context, named, body.input, options, 'input');
  const write = body.encoding_format === 'base64' ? toBase64 : (row: Float32Array) => Array.from(row);
  const answer = found.then((all) => ({
    object: 'list',
    data: rowsOf(all).map((row, index) => ({ object: 'embedding', index, embedding: write(row) })),
    model: named.name,
    usage: {
      prompt_tokens: all.tokens,
      total_tokens: all.tokens,
      ...truncatedTexts(lengths, all.truncated),
    },
  }));
  return wholeJson(answer, call);
}

/** @throws ApiError 400 for more than the model has */
export function needDimensions(
  wanted: number | undefined,
  { name, model }: NamedModel<'embedding'>,
  field = 'dimensions',
): void {
  if (wanted === undefined || wanted <= model.dimensions) return;
  throw badField(field, `${field} is ${wanted}, but "${name}" has ${model.dimensions}`);
}

/**
 * Embeds, and names the field of a text that is too long.
 * @param field the field of `input`
 */
export async function embedded(
  { metrics }: ServerContext,
  { name, model }: NamedModel<'embedding'>,
  input: Input,
  options: EmbedOptions,
  field: string,
): Promise<Embeddings> {
  const texts = inputsOf(input);
  needInputs(texts, options.prompt, model, field);
  const ended = metrics.embedding.begin(name);
  const found = await model
    .embed(texts, options)
    .catch(namingLongTexts((index) => (isList(input) ? `${field}.${index}` : field)));
  ended(found.tokens);
  return found;
}

/** The embedding of each text. */
export const rowsOf = ({ values, dimensions }: Embeddings): readonly Float32Array[] =>
  Array.from({ length: values.length / dimensions }, (_, index) =>
    values.subarray(index * dimensions, (index + 1) * dimensions),
  );

/** Whether there are several texts; one may be a list of token ids. */
const isList = (input: Input): boolean => typeof input !== 'string' && !isIds(input);

const inputsOf = (input: Input): readonly EmbedInput[] =>
  typeof input === 'string' ? [input] : isIds(input) ? [input] : input;

const isIds = (input: readonly unknown[]): input is readonly number[] => typeof input[0] === 'number';

function needInputs(
  inputs: readonly EmbedInput[],
  prompt: string | undefined,
  { config: { vocabulary } }: Embedder,
  field: string,
): void {
  const lists = inputs.filter((input) => typeof input !== 'string');
  const wrong = lists.flat().find((id) => id >= vocabulary);
  if (wrong !== undefined)
    throw badField(field, `there is no token ${wrong}; the vocabulary has ids 0 to ${vocabulary - 1}`);
  if (prompt !== undefined && lists.length > 0)
    throw badField('prompt', 'a prompt is written before texts, not before token ids');
}

/** Little-endian f32: openai-node asks for this where its caller names no encoding. */
export const toBase64 = (row: Float32Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('base64');
