import { type Cooperative, runAtOnce } from '@quern/core';

const MAX_WORDS = 32768;
const MAX_LENGTH = 64;
/** Characters between two pauses: less than 1 ms if no word is cached. */
const CHARACTERS_OF_PART = 2048;

/** A cache of the ids of short words: most words of a text repeat. */
export class WordCache {
  private readonly words = new Map<string, readonly number[]>();

  constructor(private readonly encodeWord: (word: string) => Cooperative<readonly number[]>) {}

  /** Appends the ids of all words in order. An empty word is a pause for other work. */
  *encodeAll(words: Iterable<string>, ids: number[]): Cooperative<void> {
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
    const ids = runAtOnce(this.encodeWord(word));
    if (this.words.size >= MAX_WORDS) this.words.clear();
    this.words.set(word, ids);
    return ids;
  }
}
