import { type Cooperative, eachOf } from '@quern/core';
import { byteAlphabet, characterAlphabet } from './alphabets.js';
import { lowerCase } from './json/characters.js';
import type { MergeListRules } from './merge-list-bpe.js';
import type { PreTokenizer } from './pre-tokenizer.js';
import { MARKED_WORDS, SPACE_MARK } from './sentencepiece-bpe.js';
import { splitText } from './split-text.js';
import type { Vocabulary } from './vocabulary.js';

export interface MergeListParts {
  readonly vocabulary: Vocabulary;
  readonly merges: readonly string[];
  /** The token for a character that has none, nor tokens for its bytes. */
  readonly unknown: number | undefined;
  /** Whether upper and lower case are one; asked of vocabularies without spaces alone. */
  readonly lowercases: boolean;
}

/** How a file has its text written and split, by llama.cpp's name of the way. */
export function* mergeListRules(pre: PreTokenizer, parts: MergeListParts): Cooperative<MergeListRules> {
  const { vocabulary, unknown } = parts;
  return {
    alphabet: pre.characters ? characterAlphabet(vocabulary, unknown) : byteAlphabet(vocabulary),
    wordsOf: yield* wordsBy(pre, parts),
    takesWhole: wholeWords(pre.wholeWordsFirst),
  };
}

function* wordsBy(
  { characters, patterns }: PreTokenizer,
  { merges, lowercases }: MergeListParts,
): Cooperative<MergeListRules['wordsOf']> {
  if (characters === undefined) return (text) => splitText(text, patterns);
  if (characters === 'no spaces') {
    const normal = lowercases ? lowerCase : (text: string) => text;
    return (text) => withoutSpaces(splitText(normal(text), patterns));
  }
  const all = (yield* joinsWords(merges)) ? patterns : [...patterns, MARKED_WORDS];
  return (text) => splitText(text.replaceAll(' ', SPACE_MARK), all);
}

function* withoutSpaces(pieces: Iterable<string>): Generator<string, void> {
  for (const piece of pieces) if (/\P{White_Space}/u.test(piece)) yield piece;
}

/** Whether some merge crosses the end of a word: else splitting there changes nothing but the time. */
function* joinsWords(merges: readonly string[]): Cooperative<boolean> {
  let joins = false;
  yield* eachOf(merges, (merge) => {
    joins ||= /[^\u2581 ] ?\u2581/u.test(merge);
  });
  return joins;
}

function wholeWords(first: PreTokenizer['wholeWordsFirst']): MergeListRules['takesWhole'] {
  if (first instanceof RegExp) return (word) => first.test(word);
  return () => first === true;
}
