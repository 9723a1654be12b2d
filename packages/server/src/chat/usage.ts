import type { GenerationResult } from '@quern/runtime';

/**
 * Tokens of a request: of its prompts, each with `n` answers.
 * @param thinkingTokens those of thoughts; undefined where there can be none
 */
export function usageOf(results: readonly GenerationResult[], n = 1, thinkingTokens?: number) {
  const prompts = results.filter((_, i) => i % n === 0);
  const prompt = sumOf(prompts, ({ promptTokens }) => promptTokens);
  const completion = sumOf(results, ({ tokens }) => tokens.length);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: sumOf(prompts, ({ cachedTokens }) => cachedTokens) },
    ...(thinkingTokens !== undefined && { completion_tokens_details: { reasoning_tokens: thinkingTokens } }),
  };
}

const sumOf = (results: readonly GenerationResult[], of: (result: GenerationResult) => number): number =>
  results.reduce((sum, result) => sum + of(result), 0);

/** Why an answer ended, in OpenAI's words. */
export function finishReason({ reason }: GenerationResult, calls = false): 'stop' | 'length' | 'tool_calls' {
  if (reason === 'length' || reason === 'context' || reason === 'abort') return 'length';
  return calls ? 'tool_calls' : 'stop';
}
