import type { GenerateOptions } from '@quern/runtime';
import type { SamplingFields } from './fields.js';

/** OpenAI's defaults where a request says nothing: temperature 1, no filters. */
export const samplingOptions = (fields: SamplingFields): GenerateOptions => ({
  temperature: fields.temperature ?? 1,
  topK: fields.top_k ?? 0,
  topP: fields.top_p ?? 1,
  minP: fields.min_p ?? 0,
  repetitionPenalty: fields.repetition_penalty ?? fields.repeat_penalty,
  presencePenalty: fields.presence_penalty,
  frequencyPenalty: fields.frequency_penalty,
  penaltyWindow: -1,
  logitBias: fields.logit_bias && Object.fromEntries(Object.entries(fields.logit_bias)),
  seed: fields.seed,
  stop: fields.stop,
  ignoreEos: fields.ignore_eos,
  priority: fields.priority,
  keyOrder: fields.key_order,
});
