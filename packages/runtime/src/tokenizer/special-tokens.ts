import { type Cooperative, eachOf } from '@quern/core';
import { TokenType, type Vocabulary } from './vocabulary.js';

/** A piece of text between special tokens, or the id of a special token. */
export type Fragment = string | number;

// Spellings that end a turn or a text in known model families.
const END_SPELLINGS: ReadonlySet<string> = new Set([
  '<|eot_id|>', // Llama 3
  '<|eom_id|>', // Llama 3, before a tool call
  '<|im_end|>', // ChatML: Qwen and others
  '<|end|>', // Phi
  '<|endoftext|>', // GPT-2, Qwen
  '<|end_of_text|>', // Llama 3, Granite
  '<end_of_turn>', // Gemma
  '<eos>', // Gemma
  '<turn|>', // Gemma 4
  '<|tool_response>', // Gemma 4, after a tool call
  '</s>', // SentencePiece vocabularies
  '<EOT>', // CodeLlama
  '_<EOT>', // CodeLlama, as some files spell it
  '[EOT]', // Kimi K2
  '[EOS]', // Kimi K2
  '<|return|>', // gpt-oss
  '<|call|>', // gpt-oss
  '<end_of_utterance>', // SmolVLM
  '<｜end▁of▁sentence｜>', // DeepSeek
  '<|ifm|im_end|>', // K2 Horizon
]);

/** Whether a special token with this spelling ends a generation in known model families. */
export const isEndSpelling = (spelling: string): boolean => END_SPELLINGS.has(spelling);

/**
 * The end-of-generation tokens: the declared ones, and control tokens with a known spelling. gpt-oss separates messages
 * with "<|end|>" and ends with "<|return|>" or "<|call|>": its "<|end|>" is no end token.
 */
export function* endTokens(
  vocabulary: Vocabulary,
  declared: Iterable<number | undefined>,
): Cooperative<Set<number>> {
  const ends = new Map<string, number>();
  yield* eachOf(vocabulary.spellings, (spelling, id) => {
    if (vocabulary.types[id] === TokenType.control && isEndSpelling(spelling)) ends.set(spelling, id);
  });
  if (ends.has('<|return|>') && ends.has('<|call|>')) ends.delete('<|end|>');
  const ids = new Set(ends.values());
  for (const id of declared) if (id !== undefined) ids.add(id);
  return ids;
}
