import type { LanguageModelV3FinishReason, LanguageModelV3Usage } from '@ai-sdk/provider';
import type { EndReason, GenerationResult } from '@quern/runtime';

/** Tokens of a call. The runtime does not count thoughts apart. */
export const usageOf = ({ promptTokens, cachedTokens, tokens }: GenerationResult): LanguageModelV3Usage => ({
  inputTokens: {
    total: promptTokens,
    noCache: promptTokens - cachedTokens,
    cacheRead: cachedTokens,
    cacheWrite: undefined,
  },
  outputTokens: { total: tokens.length, text: undefined, reasoning: undefined },
});

export const noUsage: LanguageModelV3Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

const reasons = {
  eos: 'stop',
  stop: 'stop',
  length: 'length',
  context: 'length',
  calls: 'tool-calls',
  abort: 'other',
} as const satisfies Record<EndReason, LanguageModelV3FinishReason['unified']>;

export const finishReasonOf = ({ reason }: GenerationResult): LanguageModelV3FinishReason => ({
  unified: reasons[reason],
  raw: reason,
});
