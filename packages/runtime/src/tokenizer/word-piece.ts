import { type Cooperative, eachOf } from '@quern/core';
import { IDEOGRAPHS, lowerCase, PUNCTUATION } from './json/characters.js';
import { SPACE_MARK } from './sentencepiece-bpe.js';
import type { TextModel } from './tokenizer.js';
import type { Vocabulary } from './vocabulary.js';
import { WordCache } from './word-cache.js';

const WORDS = new RegExp(`[${IDEOGRAPHS}${PUNCTUATION}]|[^\\s${IDEOGRAPHS}${PUNCTUATION}]+`, 'gu');
const INVISIBLE = /(?![\t\n\r])[\p{C}\ufffd]/gu;

/** Longer words are unknown tokens, as in the tokenizers of BERT's training. */
const LONGEST_WORD = 100;

/** Whether a word has more than `most` characters of one or two UTF-16 units each. */
export const isLonger = (word: string, most: number): boolean =>
  word.length > 2 * most || (word.length > most && [...word].length > most);

/** Lower case without accents. */
const plain = (text: string): string =>
  lowerCase(text.replace(INVISIBLE, ''))
    .normalize('NFD')
    .replace(/\p{Mn}/gu, '');

/**
 * Parts of about `CHARACTERS_OF_PART` characters, split at spaces: no text before a space affects the text after it.
 */
function* partsOf(text: string): Generator<string> {
  let start = 0;
  while (text.length - start > CHARACTERS_OF_PART) {
    SPACE.lastIndex = start + CHARACTERS_OF_PART;
    const end = SPACE.exec(text)?.index ?? text.length;
    yield text.slice(start, end);
    start = end;
  }
  yield text.slice(start);
}

const CHARACTERS_OF_PART = 4096;
const SPACE = /[ \n]/g;

function* wordsOf(text: string): Generator<string> {
  for (const part of partsOf(text)) for (const [word] of plain(part).matchAll(WORDS)) yield word;
}

/**
 * BERT's uncased tokenizer (Devlin et al. 2019): words in lower case without accents, each split greedily into the
 * longest tokens of the vocabulary. Tokens at the start of a word are spelled with a leading space mark.
 */
export class WordPiece implements TextModel {
  private readonly words = new WordCache((word) => this.cut(word));

  private constructor(
    private readonly vocabulary: Vocabulary,
    private readonly unknown: number,
    private readonly longestToken: number,
  ) {}

  static *of(vocabulary: Vocabulary, unknown: number): Cooperative<WordPiece> {
    let longest = 0;
    yield* eachOf(vocabulary.spellings, ({ length }) => {
      longest = Math.max(longest, length);
    });
    return new WordPiece(vocabulary, unknown, longest);
  }

  encode(text: string, _afterSpecial: boolean, ids: number[]): Cooperative<void> {
    return this.words.encodeAll(wordsOf(text), ids);
  }

  private *cut(word: string): Cooperative<number[]> {
    if (isLonger(word, LONGEST_WORD)) return [this.unknown];
    const marked = SPACE_MARK + word;
    const ids: number[] = [];
    for (let at = 0; at < marked.length; ) {
      const found = this.longestAt(marked, at);
      if (!found) return [this.unknown];
      ids.push(found.id);
      at = found.end;
      yield;
    }
    return ids;
  }

  /** The longest token at a position of a word. */
  private longestAt(marked: string, at: number): { id: number; end: number } | undefined {
    for (let end = Math.min(marked.length, at + this.longestToken); end > at; end--) {
      const id = this.vocabulary.find(marked.slice(at, end));
      if (id !== undefined) return { id, end };
    }
    return undefined;
  }
}
