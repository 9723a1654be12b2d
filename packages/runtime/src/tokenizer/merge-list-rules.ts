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
  /** The token for a character with neither a token nor byte tokens. */
  readonly unknown: number | undefined;
  /** Whether text is lowercased; only used with `characters: 'no spaces'`. */
  readonly lowercases: boolean;
}

/** A file's rules for spelling and splitting, from its pre-tokenizer. */
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

/** Whether some merge crosses the end of a word. If not, splitting at words gives the same ids in less time. */
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
