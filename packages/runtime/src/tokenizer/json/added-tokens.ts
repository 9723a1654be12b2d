import { badVocabulary } from '../error.js';
import { Spellings } from '../find-spellings.js';
import type { Fragment } from '../special-tokens.js';
import type { EncodeOptions } from '../tokenizer.js';
import { WHITESPACE, WORD } from './characters.js';
import { isJson, type Json } from './fields.js';
import { needId } from './model-tokens.js';
import { type Normalization, normalizeInParts } from './normal-parts.js';
import type { Normalizer } from './normalizer.js';

/** An entry of tokenizer.json's `added_tokens`. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Matches only between characters that are neither letters nor digits. */
  readonly singleWord: boolean;
  /** The match includes white space on its left. */
  readonly lstrip: boolean;
  /** The match includes white space on its right. */
  readonly rstrip: boolean;
  /** Matched in normalised text; the token is normalised too. */
  readonly normalized: boolean;
}

/** @throws TokenizerError BAD_VOCABULARY */
export function addedTokens(tokenizer: Json): AddedToken[] {
  const list: unknown = tokenizer.added_tokens ?? [];
  if (!Array.isArray(list)) throw badVocabulary('tokenizer.json: added_tokens is not a list');
  return list.map((entry: unknown, i) => addedToken(entry, `added_tokens[${i}]`));
}

/** @throws TokenizerError BAD_VOCABULARY */
export function addedToken(entry: unknown, where: string): AddedToken {
  if (!isJson(entry) || typeof entry.content !== 'string')
    throw badVocabulary(`tokenizer.json: ${where} is not a token with "id" and "content"`);
  const special = entry.special === true;
  return {
    id: needId(entry.id, entry.content),
    content: entry.content,
    special,
    singleWord: entry.single_word === true,
    lstrip: entry.lstrip === true,
    rstrip: entry.rstrip === true,
    normalized: typeof entry.normalized === 'boolean' ? entry.normalized : !special,
  };
}

const wordAtEnd = new RegExp(`[${WORD}]$`, 'u');
const wordAtStart = new RegExp(`^[${WORD}]`, 'u');
const spaceAtStart = new RegExp(`[${WHITESPACE}]*`, 'uy');
const space = new RegExp(`[${WHITESPACE}]`, 'u');

/** Finds added tokens in a text: leftmost first, then longest. */
class Matcher {
  private readonly tokens = new Map<string, AddedToken>();
  private readonly spellings: Spellings;

  constructor(tokens: readonly (readonly [spelling: string, token: AddedToken])[]) {
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

function standsAlone({ singleWord }: AddedToken, text: string, start: number, end: number): boolean {
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

/** Normalised text or a token id. `isTyped`: the text must not become a special token. */
export interface Piece {
  readonly fragment: Fragment;
  readonly isTyped: boolean;
}

const pieceOf = (fragment: Fragment | undefined, isTyped: boolean): Piece | undefined =>
  fragment === undefined ? undefined : { fragment, isTyped };

/** The added tokens of a file. Some are matched in the raw text, the others in the normalised text. */
export class AddedTokens {
  private readonly asWritten: Matcher;
  private readonly inNormal: Matcher;
  /** The special tokens among `inNormal`, in raw spelling, as templates write them. */
  private readonly specialInNormal: Matcher;

  constructor(
    tokens: readonly AddedToken[],
    private readonly normalization: Normalization,
  ) {
    const some = (isWanted: (token: AddedToken) => boolean, spell: Normalizer) =>
      new Matcher(tokens.filter(isWanted).map((token) => [spell(token.content), token]));
    this.asWritten = some(
      ({ normalized }) => !normalized,
      (content) => content,
    );
    this.inNormal = some(({ normalized }) => normalized, normalization.normalize);
    this.specialInNormal = some(
      ({ normalized, special }) => normalized && special,
      (content) => content,
    );
  }

  /** Yields undefined as a pause for other work. */
  *split(text: string, { special, mark }: EncodeOptions): Generator<Piece | undefined, void> {
    if (special !== 'parse') yield* this.plain(text, true);
    else if (!mark || !text.includes(mark)) yield* this.plain(text, false);
    else yield* this.marked(text, mark);
  }

  private *plain(text: string, isTyped: boolean): Generator<Piece | undefined, void> {
    for (const fragment of this.asWritten.split(text, isTyped)) {
      if (typeof fragment === 'string') yield* this.normal(fragment, isTyped);
      else yield pieceOf(fragment, isTyped);
    }
  }

  private *normal(text: string, isTyped: boolean): Generator<Piece | undefined, void> {
    const normal = yield* normalizeInParts(this.normalization, text);
    for (const fragment of this.inNormal.split(normal, isTyped)) yield pieceOf(fragment, isTyped);
  }

  /** Splits at special tokens first. A text with the mark then counts as typed. */
  private *marked(text: string, mark: string): Generator<Piece | undefined, void> {
    for (const part of this.asWritten.split(text, false)) {
      const pieces = typeof part === 'string' ? this.specialInNormal.split(part, false) : [part];
      for (const piece of pieces) {
        if (typeof piece !== 'string') yield pieceOf(piece, false);
        else if (piece.includes(mark)) yield* this.plain(piece.replaceAll(mark, ''), true);
        else yield* this.normal(piece, false);
      }
    }
  }
}
