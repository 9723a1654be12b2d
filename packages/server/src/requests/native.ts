import type { GenerateOptions, Model } from '@quern/runtime';
import * as z from 'zod';
import { badField } from '../errors.js';
import { modelName, n, notSupported, orNull, stream, watchFields, whole } from './fields.js';

/** A field whose neutral values are accepted: any other would change the answer. */
const only = (name: string, ...neutral: readonly unknown[]) =>
  z
    .unknown()
    .refine((value) => value === undefined || value === null || neutral.includes(value), {
      message: `${name} is not supported: leave it out, or send ${neutral.map((each) => JSON.stringify(each)).join(' or ')}`,
    })
    .optional();

const anything = z.unknown().optional();

/** Fields that change nothing here: settings of what is off, and of llama.cpp's slots. */
const unused = {
  dynatemp_exponent: anything,
  dry_base: anything,
  dry_allowed_length: anything,
  dry_penalty_last_n: anything,
  dry_sequence_breakers: anything,
  xtc_threshold: anything,
  mirostat_tau: anything,
  mirostat_eta: anything,
  n_keep: anything,
  n_discard: anything,
  n_cache_reuse: anything,
  id_slot: anything,
  sse_ping_interval: anything,
  api_key: anything,
};

const text = z.strictObject({
  prompt_string: z.string(),
  multimodal_data: z.array(z.unknown()).max(0, 'this model reads no images or sounds').optional(),
});

const mixed = z.array(z.union([z.string(), whole(0)])).min(1);

/** One prompt: a text, or token ids and texts in a row. */
const onePrompt = z.union([z.string(), mixed, text]);

export type NativePrompt = z.output<typeof onePrompt>;

const bias = z.union([z.number(), z.literal(false)]);

/** llama.cpp's order of the samplers that are not off. */
const samplerOrder = ['penalties', 'top_k', 'top_p', 'min_p', 'temperature'] as const;
const offSamplers: ReadonlySet<string> = new Set(['dry', 'typ_p', 'top_n_sigma', 'xtc', 'adaptive_p']);

const isOurOrder = (names: readonly string[]): boolean => {
  const used = names.filter((name) => !offSamplers.has(name));
  const expected = used[0] === 'penalties' ? samplerOrder : samplerOrder.slice(1);
  return used.length === expected.length && used.every((name, i) => name === expected[i]);
};

/** Fields of /completion and /infill, beside the prompt. */
export const nativeFields = {
  ...unused,
  model: modelName,
  n_predict: orNull(whole(-1)),
  max_tokens: orNull(whole(-1)),
  temperature: orNull(z.number()),
  top_k: orNull(z.number().int()),
  top_p: orNull(z.number().min(0).max(1)),
  min_p: orNull(z.number().min(0).max(1)),
  repeat_penalty: orNull(z.number().positive()),
  repeat_last_n: orNull(whole(-1)),
  presence_penalty: orNull(z.number()),
  frequency_penalty: orNull(z.number()),
  seed: orNull(whole(-1)),
  stop: orNull(z.union([z.string(), z.array(z.string()).max(16)])),
  ignore_eos: orNull(z.boolean()),
  logit_bias: orNull(
    z.union([z.array(z.tuple([z.union([z.string(), whole(0)]), bias])), z.record(z.string(), bias)]),
  ),
  grammar: orNull(z.string()),
  json_schema: orNull(z.record(z.string(), z.unknown())),
  n_probs: orNull(whole(0, 20)),
  n_cmpl: n,
  n,
  stream,
  ...watchFields,
  cache_prompt: orNull(z.boolean()),
  return_tokens: orNull(z.boolean()),
  response_fields: orNull(z.array(z.string())),
  samplers: orNull(
    z.array(z.string()).refine(isOurOrder, {
      message: `the order must be ${samplerOrder.join(', ')}: leave samplers out`,
    }),
  ),
  dynatemp_range: only('dynatemp_range', 0),
  typical_p: only('typical_p', 1),
  top_n_sigma: only('top_n_sigma', -1),
  dry_multiplier: only('dry_multiplier', 0),
  xtc_probability: only('xtc_probability', 0),
  mirostat: only('mirostat', 0),
  min_keep: only('min_keep', 0),
  n_indent: only('n_indent', 0),
  t_max_predict_ms: only('t_max_predict_ms', 0),
  post_sampling_probs: only('post_sampling_probs', false),
  echo: only('echo', false),
  suffix: only('suffix', ''),
  best_of: only('best_of', 1),
  response_format: notSupported('response_format'),
  lora: z.array(z.unknown()).max(0, 'name the adapter as the model').nullish(),
};

/** The body of POST /completion, as llama.cpp's server has it. */
export const nativeRequest = z.strictObject({
  ...nativeFields,
  prompt: z.union([z.string(), text, mixed, z.array(onePrompt).min(1).max(256)], {
    error: 'must be a text, token ids, both in a row, or a list of up to 256 of these',
  }),
});

export type NativeRequest = z.output<typeof nativeRequest>;
export type NativeFields = z.output<z.ZodObject<typeof nativeFields>>;

/** A list of texts is several prompts; ids, or ids and texts in a row, are one. */
export function nativePrompts({ prompt }: NativeRequest): readonly NativePrompt[] {
  if (!Array.isArray(prompt)) return [prompt];
  const isOne = prompt.some((each) => typeof each === 'number');
  return isOne ? [prompt as NativePrompt] : (prompt as readonly NativePrompt[]);
}

/**
 * The token ids of a prompt. Spellings of control tokens become these tokens, as in llama.cpp; a text at its start gets what
 * the tokenizer writes before texts.
 * @throws ApiError 400
 */
export async function promptIds(prompt: NativePrompt, model: Model): Promise<readonly number[]> {
  const parts =
    typeof prompt === 'string' ? [prompt] : 'prompt_string' in prompt ? [prompt.prompt_string] : prompt;
  const lists: (readonly number[])[] = [];
  for (const [at, part] of parts.entries())
    lists.push(typeof part === 'number' ? [part] : await textIds(part, at === 0, model));
  return lists.flat();
}

async function textIds(part: string, isFirst: boolean, { tokenizer, context }: Model) {
  if (!tokenizer) throw badField('model', 'the model has no vocabulary: give token ids', 'no_tokenizer');
  const start = isFirst ? {} : { addBos: false };
  const ids = await tokenizer.encodeInTurns(part, {
    ...start,
    ...{ special: 'parse', addEos: false, limit: context },
  });
  if (ids.length <= context) return ids;
  const message = `the prompt has more than ${context} tokens, too many for the context`;
  throw badField('prompt', message, 'context_length_exceeded');
}

/** The fields with llama.cpp's defaults for those that a request leaves out. */
export const settingsOf = (fields: Partial<NativeFields>) => ({
  n_predict: fields.n_predict ?? fields.max_tokens ?? -1,
  temperature: Math.max(0, fields.temperature ?? 0.8),
  top_k: Math.max(0, fields.top_k ?? 40),
  top_p: fields.top_p ?? 0.95,
  min_p: fields.min_p ?? 0.05,
  repeat_penalty: fields.repeat_penalty ?? 1,
  repeat_last_n: fields.repeat_last_n ?? 64,
  presence_penalty: fields.presence_penalty ?? 0,
  frequency_penalty: fields.frequency_penalty ?? 0,
  seed: fields.seed ?? -1,
  stop: [fields.stop ?? []].flat().filter((each) => each !== ''),
  ignore_eos: fields.ignore_eos ?? false,
  grammar: fields.grammar ?? '',
  n_probs: fields.n_probs ?? 0,
  stream: fields.stream ?? false,
  samplers: samplerOrder,
});

/** @throws ApiError 400 */
export function nativeOptions(fields: NativeFields, model: Model): GenerateOptions {
  const settings = settingsOf(fields);
  const { n_predict, seed, n_probs, grammar, stop, top_p } = settings;
  if (grammar !== '' && fields.json_schema)
    throw badField('grammar', 'grammar and json_schema exclude each other: leave one of them out');
  return {
    maxTokens: n_predict < 0 ? undefined : n_predict,
    temperature: top_p === 0 ? 0 : settings.temperature,
    topK: settings.top_k,
    topP: top_p || 1,
    minP: settings.min_p,
    repetitionPenalty: settings.repeat_penalty,
    penaltyWindow: settings.repeat_last_n,
    presencePenalty: settings.presence_penalty,
    frequencyPenalty: settings.frequency_penalty,
    seed: seed < 0 ? undefined : seed,
    stop: stop.length > 0 ? stop : undefined,
    ignoreEos: settings.ignore_eos,
    logitBias: biasOf(fields, model),
    logprobs: n_probs > 0 ? n_probs : undefined,
    reuse: fields.cache_prompt ?? true,
    ...(grammar !== '' && { grammar }),
    ...(fields.json_schema && { schema: fields.json_schema }),
  };
}

/** A text stands for each of its tokens; `false` bans a token. */
function biasOf({ logit_bias }: NativeFields, model: Model): ReadonlyMap<number, number> | undefined {
  if (!logit_bias) return undefined;
  const entries = Array.isArray(logit_bias) ? logit_bias : Object.entries(logit_bias);
  const idsOf = (token: string | number) => {
    if (typeof token === 'number') return [token];
    if (!Array.isArray(logit_bias) && /^\d+$/.test(token)) return [Number(token)];
    return model.tokenize(token, { addBos: false, addEos: false });
  };
  return new Map(
    entries.flatMap(([token, by]) =>
      idsOf(token).map((id) => [id, by === false ? Number.NEGATIVE_INFINITY : by] as const),
    ),
  );
}
