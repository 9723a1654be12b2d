import { z } from 'zod';

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

const orNull = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined);

const number = (least: number, most: number) => z.number().min(least).max(most);
const whole = (least: number, most = Number.MAX_SAFE_INTEGER) => z.number().int().min(least).max(most);

export const maxTokens = orNull(whole(1));

/** Keys of JSON objects in the order of their schema (default), or in any. */
export const keyOrder = orNull(z.enum(['schema', 'any']));

/** Fields of sampling, common to all routes that generate. */
export const sampling = {
  temperature: orNull(number(0, 2)),
  top_p: orNull(number(Number.MIN_VALUE, 1)),
  top_k: orNull(whole(0)),
  min_p: orNull(number(0, 1)),
  repetition_penalty: orNull(number(Number.MIN_VALUE, 10)),
  presence_penalty: orNull(number(-2, 2)),
  frequency_penalty: orNull(number(-2, 2)),
  logit_bias: orNull(z.record(z.string().regex(/^\d+$/, 'keys are token ids'), number(-100, 100))),
  seed: orNull(whole(0)),
  stop: orNull(z.union([z.string().min(1), z.array(z.string().min(1)).max(16)])),
  ignore_eos: orNull(z.boolean()),
  priority: orNull(z.number()),
  key_order: keyOrder,
};

/** OpenAI's values; they change nothing here. */
export const reasoningEffort = orNull(
  z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra', 'persistent']),
);

export const n = orNull(whole(1, 128));
export const stream = orNull(z.boolean());
export const streamOptions = orNull(
  z.strictObject({ include_usage: orNull(z.boolean()), include_obfuscation: z.unknown().optional() }),
);
export const modelName = orNull(z.string());
export { orNull, whole };

export type SamplingFields = z.output<z.ZodObject<typeof sampling>>;
