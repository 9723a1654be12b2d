import { toByteLevel } from './byte-level.js';
import { badVocabulary } from './error.js';
import type { Vocabulary } from './vocabulary.js';

/** The alphabet of a vocabulary. */
export interface Alphabet {
  /** A word in the spelling of tokens. */
  spell(word: string): string;
  /** Start of each letter of a spelling, then its end. */
  starts(spelling: string): number[];
  /** Tokens for a symbol without a token of its own. */
  fallback(symbol: string): readonly number[];
}

/** GPT-2's: one letter per byte. A byte without a token is dropped, as in llama.cpp. */
export const byteAlphabet = (vocabulary: Vocabulary): Alphabet => ({
  spell: toByteLevel,
  starts: (spelling) => Array.from({ length: spelling.length + 1 }, (_, i) => i),
  fallback: (symbol) => Array.from(symbol, (byte) => vocabulary.find(byte)).filter((id) => id !== undefined),
});

/** The characters themselves; a character without a token becomes its bytes. */
export const characterAlphabet = (vocabulary: Vocabulary, unknown: number | undefined): Alphabet => ({
  spell: (word) => word,
  starts: characterStarts,
  fallback: bytesOrUnknown(vocabulary, unknown),
});

/** Start of each character, then the end of the text. */
export function characterStarts(text: string): number[] {
  const starts = [0];
  let end = 0;
  for (const character of text) {
    end += character.length;
    starts.push(end);
  }
  return starts;
}

const utf8 = new TextEncoder();

/** The byte tokens of a symbol (<0x00> to <0xFF>), else the unknown token. @throws TokenizerError BAD_VOCABULARY */
export function bytesOrUnknown(vocabulary: Vocabulary, unknown: number | undefined): Alphabet['fallback'] {
  const byteTokens = vocabulary.byteTokens();
  return (symbol) => {
    const ids = Array.from(utf8.encode(symbol), (byte) => byteTokens[byte]!);
    if (ids.every((id) => id >= 0)) return ids;
    if (unknown !== undefined) return [unknown];
    throw badVocabulary(
      `no token for "${symbol}": the vocabulary lacks it, its byte tokens (<0x00> to <0xFF>) and an unknown token`,
    );
  };
}
