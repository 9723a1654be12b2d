import * as z from 'zod';

/** Fields that change nothing here: accepted, whatever they say. */
export const harmless = {
  user: z.unknown().optional(),
  metadata: z.unknown().optional(),
  store: z.unknown().optional(),
  service_tier: z.unknown().optional(),
  safety_identifier: z.unknown().optional(),
  prompt_cache_key: z.unknown().optional(),
  prompt_cache_retention: z.unknown().optional(),
};

/** A field that would change the answer and that is not supported: only null is accepted. */
export const notSupported = (name: string) =>
  z.null({ error: `${name} is not supported: leave it out` }).optional();

/** A field that would change the answer and that is not supported: only its values that change nothing are accepted. */
export const off = <const T extends number | boolean>(name: string, ...values: readonly T[]) =>
  z.literal(values, { error: `${name} is not supported: leave it out, or set it to ${values[0]}` }).nullish();

/** A list that would change the answer: only an empty one is accepted. */
const noList = (name: string) =>
  z
    .array(z.unknown())
    .max(0, { error: `${name} is not supported: leave it out` })
    .nullish();

const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const number = (least: number, most: number) => z.number().min(least).max(most);
const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => z.number().int().min(least).max(most);

/** -1: no bound, as in llama.cpp. */
export const maxTokens = orNull(
  z.union([whole(1), z.literal(-1)], { error: 'must be a whole number from 1 on; -1: no bound' }),
).transform((value) => (value === -1 ? undefined : value));

/** Keys of JSON objects in the order of their schema (default), or in any. */
export const keyOrder = orNull(z.enum(['schema', 'any']));

const mostStops = 16;

/** One text or several; an empty one, as some clients send for none, is left out. */
const stops = orNull(
  z
    .union([z.string(), z.array(z.string())], { error: 'must be a text or a list of texts' })
    .superRefine((value, context) => {
      if (typeof value === 'string' || value.length <= mostStops) return;
      context.addIssue({
        code: 'custom',
        message: `has ${value.length} texts; at most ${mostStops} are allowed`,
      });
    }),
).transform((value) => {
  const texts = [value ?? []].flat().filter((text) => text !== '');
  return texts.length > 0 ? texts : undefined;
});

/** Fields of other engines that would change the answer, but for the values that change nothing. */
const unsupported = {
  typical_p: off('typical_p', 1),
  typ_p: off('typ_p', 1),
  tfs: off('tfs', 1),
  tfs_z: off('tfs_z', 1),
  top_a: off('top_a', 0),
  top_n_sigma: off('top_n_sigma', -1, 0),
  mirostat: off('mirostat', 0),
  mirostat_mode: off('mirostat_mode', 0),
  dry_multiplier: off('dry_multiplier', 0),
  xtc_probability: off('xtc_probability', 0),
  dynatemp_range: off('dynatemp_range', 0),
  min_tokens: off('min_tokens', 0),
  use_beam_search: off('use_beam_search', false),
  length_penalty: off('length_penalty', 1),
  include_stop_str_in_output: off('include_stop_str_in_output', false),
  stop_token_ids: noList('stop_token_ids'),
  bad_words: noList('bad_words'),
  allowed_token_ids: noList('allowed_token_ids'),
  logits_processors: noList('logits_processors'),
  prompt_logprobs: notSupported('prompt_logprobs'),
  truncate_prompt_tokens: notSupported('truncate_prompt_tokens'),
  chat_template: notSupported('chat_template'),
  documents: noList('documents'),
};

/** Fields of sampling, common to all routes that generate. */
export const sampling = {
  ...unsupported,
  temperature: orNull(number(0, 2)),
  top_p: orNull(number(Number.MIN_VALUE, 1)),
  /** vLLM's -1 and llama.cpp's 0: all tokens. */
  top_k: orNull(whole(-1)).transform((value) => (value === -1 ? 0 : value)),
  min_p: orNull(number(0, 1)),
  repetition_penalty: orNull(number(Number.MIN_VALUE, 10)),
  /** llama.cpp's name. */
  repeat_penalty: orNull(number(Number.MIN_VALUE, 10)),
  presence_penalty: orNull(number(-2, 2)),
  frequency_penalty: orNull(number(-2, 2)),
  logit_bias: orNull(z.record(z.string().regex(/^\d+$/, 'keys are token ids'), number(-100, 100))),
  /** -1: any, as in llama.cpp. */
  seed: orNull(whole(-1)).transform((value) => (value === -1 ? undefined : value)),
  stop: stops,
  ignore_eos: orNull(z.boolean()),
  priority: orNull(z.number()),
  key_order: keyOrder,
};

/** OpenAI's values: 'none' switches thoughts off, others change nothing here. */
export const reasoningEffort = orNull(
  z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra', 'persistent']),
);

/** Variables of templates that switch thoughts off; others do not read them. */
export const thinkingOff = { enable_thinking: false, thinking: false };

export const n = orNull(whole(1, 128));
export const stream = orNull(z.boolean());
export const streamOptions = orNull(
  z.strictObject({ include_usage: orNull(z.boolean()), include_obfuscation: z.unknown().optional() }),
);
/** What a stream shows of its progress: fields of llama.cpp's server. */
export const watchFields = {
  return_progress: orNull(z.boolean()),
  timings_per_token: orNull(z.boolean()),
};

export const modelName = orNull(z.string());
export { orNull, whole };

export type SamplingFields = z.output<z.ZodObject<typeof sampling>>;
