import { atOnce, type Divided } from '@quern/core';

const MAX_WORDS = 32768;
const MAX_LENGTH = 64;
/** Characters between two turns of other work: less than a millisecond where no word is known. */
const CHARACTERS_OF_PART = 2048;

/** Remembers the ids of short words: in ordinary text nearly every word has been seen before. */
export class WordCache {
  private readonly words = new Map<string, readonly number[]>();

  constructor(private readonly encodeWord: (word: string) => Divided<readonly number[]>) {}

  /** Appends the ids of all words in order; an empty one is none, and other work may come there. */
  *encodeAll(words: Iterable<string>, ids: number[]): Divided<void> {
    let characters = 0;
    for (const word of words) {
      if (word === '') {
        yield;
        continue;
      }
      const found =
        word.length > MAX_LENGTH ? yield* this.encodeWord(word) : (this.words.get(word) ?? this.learn(word));
      for (let i = 0; i < found.length; i++) ids.push(found[i]!);
      characters += word.length;
      if (characters < CHARACTERS_OF_PART) continue;
      characters = 0;
      yield;
    }
  }

  private learn(word: string): readonly number[] {
    const ids = atOnce(this.encodeWord(word));
    if (this.words.size >= MAX_WORDS) this.words.clear();
    this.words.set(word, ids);
    return ids;
  }
}
