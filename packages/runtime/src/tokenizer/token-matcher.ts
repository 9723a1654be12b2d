import { Spellings } from './find-spellings.js';
import { WHITESPACE, WORD } from './json/characters.js';
import type { Fragment } from './special-tokens.js';

/** A token that is searched in a text before the text is split into words. */
export interface MatchedToken {
  readonly id: number;
  readonly special: boolean;
  /** Matches only between characters that are neither letters nor digits. */
  readonly singleWord: boolean;
  /** The match includes white space on its left. */
  readonly lstrip: boolean;
  /** The match includes white space on its right. */
  readonly rstrip: boolean;
}

const wordAtEnd = new RegExp(`[${WORD}]$`, 'u');
const wordAtStart = new RegExp(`^[${WORD}]`, 'u');
const spaceAtStart = new RegExp(`[${WHITESPACE}]*`, 'uy');
const space = new RegExp(`[${WHITESPACE}]`, 'u');

/** Finds tokens in a text by their spelling: leftmost first, then longest. */
export class TokenMatcher {
  private readonly tokens = new Map<string, MatchedToken>();
  private readonly spellings: Spellings;

  constructor(tokens: Iterable<readonly [spelling: string, token: MatchedToken]>) {
    for (const [spelling, token] of tokens) if (spelling !== '') this.tokens.set(spelling, token);
    this.spellings = new Spellings(this.tokens.keys());
  }

  /**
   * @param hidesSpecial special tokens stay text. Yields undefined as a pause for other work.
   */
  *split(text: string, hidesSpecial: boolean): Generator<Fragment | undefined, void> {
    let done = 0;
    for (const place of this.spellings.in(text)) {
      if (!place) {
        yield;
        continue;
      }
      const { index, spelling } = place;
      const token = this.tokens.get(spelling)!;
      const end = index + spelling.length;
      if ((hidesSpecial && token.special) || !standsAlone(token, text, index, end)) continue;
      const start = token.lstrip ? Math.max(done, startOfSpace(text, index)) : Math.max(done, index);
      if (start > done) yield text.slice(done, start);
      yield token.id;
      done = token.rstrip ? endOfSpace(text, end) : end;
    }
    if (done < text.length) yield text.slice(done);
  }
}

function standsAlone({ singleWord }: MatchedToken, text: string, start: number, end: number): boolean {
  if (!singleWord) return true;
  return (
    !wordAtEnd.test(text.slice(Math.max(0, start - 2), start)) && !wordAtStart.test(text.slice(end, end + 2))
  );
}

function startOfSpace(text: string, end: number): number {
  let start = end;
  while (start > 0 && space.test(text[start - 1]!)) start--;
  return start;
}

function endOfSpace(text: string, start: number): number {
  spaceAtStart.lastIndex = start;
  spaceAtStart.test(text);
  return spaceAtStart.lastIndex;
}
