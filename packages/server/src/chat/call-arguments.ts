import { parseJson } from '@quern/runtime';

/**
 * The arguments of a call as a value, with all digits of their numbers. Those that were cut, or are no JSON: as text, where
 * Anthropic's documentation puts it.
 */
export function argumentsOf(text: string): unknown {
  if (text === '') return {};
  try {
    return parseJson(text);
  } catch {
    return { INVALID_JSON: text };
  }
}
