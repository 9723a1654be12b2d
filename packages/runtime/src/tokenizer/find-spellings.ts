import { escapeRegExp } from '../escape-regexp.js';

/** An occurrence of a spelling in a text. */
export interface Place {
  readonly index: number;
  readonly spelling: string;
}

const CHARACTERS_OF_PART = 2 ** 16;

/** Finds spellings in texts: leftmost first, then longest. */
export class Spellings {
  private readonly anyOfThem: RegExp | undefined;
  private readonly longest: number;

  constructor(spellings: Iterable<string>) {
    const longestFirst = [...spellings].filter(Boolean).sort((a, b) => b.length - a.length);
    this.longest = longestFirst[0]?.length ?? 0;
    if (longestFirst.length > 0) this.anyOfThem = new RegExp(longestFirst.map(escapeRegExp).join('|'), 'gu');
  }

  /** The occurrences in order. Yields undefined after each part of the text, as a pause for other work. */
  *in(text: string): Generator<Place | undefined, void> {
    if (!this.anyOfThem) return;
    for (let from = 0; from < text.length; ) {
      let next = from + CHARACTERS_OF_PART;
      const part = text.slice(from, next + this.longest);
      for (const { index, 0: spelling } of part.matchAll(this.anyOfThem)) {
        if (index >= CHARACTERS_OF_PART) break; // a longer spelling may start before the next part
        yield { index: from + index, spelling };
        next = Math.max(next, from + index + spelling.length);
      }
      from = next;
      if (from < text.length) yield undefined;
    }
  }
}
