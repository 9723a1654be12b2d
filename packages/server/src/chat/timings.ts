import type { GenerationResult } from '@quern/runtime';

const each = (ms: number, count: number) => (count === 0 ? 0 : ms / count);
const perSecond = (ms: number, count: number) => (ms === 0 ? 0 : (1000 * count) / ms);

/** The times of an answer, as llama.cpp's server writes them: computed prompt tokens and generated ones. */
export function timingsOf({
  promptTokens,
  cachedTokens,
  tokens,
  prefillMs,
  decodeMs,
  draftedTokens,
  acceptedTokens,
}: GenerationResult) {
  const [prompt, predicted] = [promptTokens - cachedTokens, tokens.length];
  return {
    cache_n: cachedTokens,
    prompt_n: prompt,
    prompt_ms: prefillMs,
    prompt_per_token_ms: each(prefillMs, prompt),
    prompt_per_second: perSecond(prefillMs, prompt),
    predicted_n: predicted,
    predicted_ms: decodeMs,
    predicted_per_token_ms: each(decodeMs, predicted),
    predicted_per_second: perSecond(decodeMs, predicted),
    ...(draftedTokens > 0 && { draft_n: draftedTokens, draft_n_accepted: acceptedTokens }),
  };
}

/** `timings` of a response with one answer; several share steps, and have none. */
export const timingsField = (results: readonly GenerationResult[]) =>
  results.length === 1 ? { timings: timingsOf(results[0]!) } : {};
