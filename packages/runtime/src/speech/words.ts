import type { Word } from './options.js';
import { type SpeechVocabulary, textOf } from './vocabulary.js';

/** A word and its tokens. */
export interface WordTokens {
  readonly word: string;
  readonly tokens: readonly number[];
}

/** Languages written without spaces between words: each whole character counts as a word. */
const withoutSpaces = new Set(['zh', 'ja', 'th', 'lo', 'my', 'yue']);
const before = '"\'“¿([{-';
const after = '"\'.。,，!！?？:：”)]}、';
const isPunctuation = (text: string) => /^[\p{P}\p{S}]+$/u.test(text);

/** Splits text into words: at spaces and before punctuation, never inside a character. */
export function splitWords(
  vocabulary: SpeechVocabulary,
  ids: readonly number[],
  language: string,
): WordTokens[] {
  const pieces = wholeCharacters(vocabulary, ids);
  if (withoutSpaces.has(language)) return pieces;
  const words: { word: string; tokens: number[] }[] = [];
  for (const { word, tokens } of pieces) {
    const last = words.at(-1);
    if (!last || word.startsWith(' ') || isPunctuation(word.trim()))
      words.push({ word, tokens: [...tokens] });
    else {
      last.word += word;
      last.tokens.push(...tokens);
    }
  }
  return words;
}

/** Tokens joined to whole characters. */
function wholeCharacters(vocabulary: SpeechVocabulary, ids: readonly number[]): WordTokens[] {
  const pieces: WordTokens[] = [];
  let waiting: number[] = [];
  for (const id of ids) {
    waiting.push(id);
    const word = textOf(vocabulary, waiting);
    if (word.includes('\ufffd')) continue;
    pieces.push({ word, tokens: waiting });
    waiting = [];
  }
  if (waiting.length > 0) pieces.push({ word: textOf(vocabulary, waiting), tokens: waiting });
  return pieces;
}

/** Joins punctuation to its word. */
export function joinPunctuation(words: readonly Word[]): Word[] {
  const joined: Word[] = [];
  let opening: Word | undefined;
  for (const word of words) {
    const last = joined.at(-1);
    const mark = word.word.trim();
    if (word.word.startsWith(' ') && mark !== '' && before.includes(mark)) {
      opening = opening ? join(opening, word, word) : word;
    } else if (last && !opening && !word.word.startsWith(' ') && mark !== '' && after.includes(mark))
      joined[joined.length - 1] = join(last, word, last);
    else {
      joined.push(opening ? join(opening, word, word) : word);
      opening = undefined;
    }
  }
  if (opening) joined.push(opening);
  return joined;
}

/** Joins two words, with the times of `spoken`. */
const join = (left: Word, right: Word, spoken: Word): Word => ({ ...spoken, word: left.word + right.word });
