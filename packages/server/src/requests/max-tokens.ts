import type { Model } from '@quern/runtime';
import { badField } from '../errors.js';

/** @throws ApiError 400 where more tokens are asked for than the context has */
export function needMaxTokens(maxTokens: number | undefined, { context }: Model, param: string): void {
  if (maxTokens === undefined || maxTokens <= context) return;
  throw badField(
    param,
    `${param} is ${maxTokens}, but the context has ${context} tokens, those of the prompt included`,
    'context_length_exceeded',
  );
}
