import type { GenerationResult } from '@quern/runtime';

const each = (ms: number, count: number) => (count === 0 ? 0 : ms / count);
const perSecond = (ms: number, count: number) => (ms === 0 ? 0 : (1000 * count) / ms);

/** Tokens of a prompt and of its answer, and the milliseconds that they took. */
interface Figures {
  readonly cached: number;
  readonly computed: number;
  readonly promptMs: number;
  readonly predicted: number;
  readonly predictedMs: number;
}

/** The times of an answer, as llama.cpp's server writes them: computed prompt tokens and generated ones. */
export const timings = ({ cached, computed, promptMs, predicted, predictedMs }: Figures) => ({
  cache_n: cached,
  prompt_n: computed,
  prompt_ms: promptMs,
  prompt_per_token_ms: each(promptMs, computed),
  prompt_per_second: perSecond(promptMs, computed),
  predicted_n: predicted,
  predicted_ms: predictedMs,
  predicted_per_token_ms: each(predictedMs, predicted),
  predicted_per_second: perSecond(predictedMs, predicted),
});

export type Timings = ReturnType<typeof timings>;

/** The times of a whole answer. */
export function timingsOf({
  promptTokens,
  cachedTokens,
  tokens,
  prefillMs,
  decodeMs,
  draftedTokens,
  acceptedTokens,
}: GenerationResult) {
  return {
    ...timings({
      cached: cachedTokens,
      computed: promptTokens - cachedTokens,
      promptMs: prefillMs,
      predicted: tokens.length,
      predictedMs: decodeMs,
    }),
    ...(draftedTokens > 0 && { draft_n: draftedTokens, draft_n_accepted: acceptedTokens }),
  };
}

/** `timings` of a response with one answer; several share steps, and have none. */
export const timingsField = (results: readonly GenerationResult[]) =>
  results.length === 1 ? { timings: timingsOf(results[0]!) } : {};
