const MAX_WORDS = 32768;
const MAX_LENGTH = 64;

/** Remembers the ids of short words: in ordinary text nearly every word has been seen before. */
export class WordCache {
  private readonly words = new Map<string, readonly number[]>();

  constructor(private readonly encodeWord: (word: string) => readonly number[]) {}

  encode(word: string): readonly number[] {
    if (word.length > MAX_LENGTH) return this.encodeWord(word);
    const known = this.words.get(word);
    if (known) return known;
    const ids = this.encodeWord(word);
    if (this.words.size >= MAX_WORDS) this.words.clear();
    this.words.set(word, ids);
    return ids;
  }

  /** All words in order. */
  encodeAll(words: Iterable<string>): number[] {
    const ids: number[] = [];
    for (const word of words) for (const id of this.encode(word)) ids.push(id);
    return ids;
  }
}
