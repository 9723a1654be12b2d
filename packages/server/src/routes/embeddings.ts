import type { Embedder, Embeddings, EmbedInput } from '@quern/runtime';
import { z } from 'zod';
import type { Call, ServerContext } from '../context.js';
import { badField } from '../errors.js';
import { modelFor } from '../models.js';
import { harmless, modelName, orNull, whole } from '../requests/fields.js';
import { parse, readJson } from '../requests/parse.js';
import { namingLongTexts, truncatedTexts, truncationFields, truncationOf } from '../requests/truncation.js';
import { wholeJson } from '../whole.js';

const text = z.string().min(1);
/** Most inputs of a request. */
const most = 2048;

const request_ = z.strictObject({
  ...harmless,
  model: modelName,
  input: z.union(
    [
      text,
      z.array(text).min(1).max(most),
      z.array(whole(0)).min(1),
      z
        .array(z.array(whole(0)).min(1))
        .min(1)
        .max(most),
    ],
    { error: `must be a text, token ids, or a list of up to ${most} of either` },
  ),
  encoding_format: orNull(z.enum(['float', 'base64'])),
  dimensions: orNull(whole(1)),
  prompt: orNull(z.string()),
  ...truncationFields,
});

/** POST /v1/embeddings */
export async function embeddings(
  request: Request,
  { options }: ServerContext,
  call: Call,
): Promise<Response> {
  const body = parse(request_, await readJson(request), call);
  const { name, model } = modelFor(options, 'embedding', body.model);
  if (body.dimensions !== undefined && body.dimensions !== model.dimensions)
    throw badField('dimensions', `"${name}" has ${model.dimensions} dimensions; they cannot be changed`);
  const texts = inputsOf(body.input);
  needInputs(texts, body.prompt, model);
  const lengths = truncationOf(body, model);
  const found = model
    .embed(texts, { ...lengths, signal: call.signal, prompt: body.prompt })
    .catch(namingLongTexts((index) => (isList(body.input) ? `input.${index}` : 'input')));
  const write = body.encoding_format === 'base64' ? toBase64 : (row: Float32Array) => Array.from(row);
  const answer = found.then(({ tokens, truncated, ...rows }) => ({
    object: 'list',
    data: texts.map((_, index) => ({ object: 'embedding', index, embedding: write(rowOf(rows, index)) })),
    model: name,
    usage: { prompt_tokens: tokens, total_tokens: tokens, ...truncatedTexts(lengths, truncated) },
  }));
  return wholeJson(answer, call);
}

const rowOf = ({ values, dimensions }: Pick<Embeddings, 'values' | 'dimensions'>, index: number) =>
  values.subarray(index * dimensions, (index + 1) * dimensions);

/** Whether there are several texts; one may be a list of token ids. */
const isList = (input: z.output<typeof request_>['input']): boolean =>
  typeof input !== 'string' && !isIds(input);

const inputsOf = (input: z.output<typeof request_>['input']): readonly EmbedInput[] =>
  typeof input === 'string' ? [input] : isIds(input) ? [input] : input;

const isIds = (input: readonly unknown[]): input is readonly number[] => typeof input[0] === 'number';

function needInputs(
  inputs: readonly EmbedInput[],
  prompt: string | undefined,
  { config: { vocabulary } }: Embedder,
): void {
  const lists = inputs.filter((input) => typeof input !== 'string');
  const wrong = lists.flat().find((id) => id >= vocabulary);
  if (wrong !== undefined)
    throw badField('input', `there is no token ${wrong}; the vocabulary has ids 0 to ${vocabulary - 1}`);
  if (prompt !== undefined && lists.length > 0)
    throw badField('prompt', 'a prompt is written before texts, not before token ids');
}

/** Little-endian f32: openai-node asks for this where its caller names no encoding. */
const toBase64 = (row: Float32Array): string =>
  Buffer.from(row.buffer, row.byteOffset, row.byteLength).toString('base64');
