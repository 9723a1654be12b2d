import type { GenerationResult } from '@quern/runtime';

/** Tokens of a request: one prompt, `n` answers. */
export function usageOf(results: readonly GenerationResult[]) {
  const prompt = results[0]?.promptTokens ?? 0;
  const completion = results.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    prompt_tokens_details: { cached_tokens: results[0]?.cachedTokens ?? 0 },
  };
}

/** Why an answer ended, in OpenAI's words. */
export function finishReason({ reason }: GenerationResult, calls = false): 'stop' | 'length' | 'tool_calls' {
  if (reason === 'length' || reason === 'context' || reason === 'abort') return 'length';
  return calls ? 'tool_calls' : 'stop';
}
