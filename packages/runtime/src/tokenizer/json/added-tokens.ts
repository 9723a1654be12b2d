import { badVocabulary } from '../error.js';
import type { Fragment } from '../special-tokens.js';
import type { EncodeOptions } from '../tokenizer.js';
import { WHITESPACE, WORD } from './characters.js';
import { isJson, type Json } from './fields.js';
import { needId } from './model-tokens.js';
import type { Normalizer } from './normalizers.js';

/** An entry of tokenizer.json's `added_tokens`. */
export interface AddedToken {
  readonly id: number;
  readonly content: string;
  readonly special: boolean;
  /** Only where no letter or digit is next to it. */
  readonly singleWord: boolean;
  /** Takes the whitespace before it. */
  readonly lstrip: boolean;
  /** Takes the whitespace after it. */
  readonly rstrip: boolean;
  /** Looked for, normalised, in the normalised text. */
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

/** Looks for some added tokens in a text: leftmost first, then longest. */
class Matcher {
  private readonly tokens = new Map<string, AddedToken>();
  private readonly anyOfThem: RegExp | undefined;

  constructor(tokens: readonly (readonly [spelling: string, token: AddedToken])[]) {
    for (const [spelling, token] of tokens) if (spelling !== '') this.tokens.set(spelling, token);
    const longestFirst = [...this.tokens.keys()].sort((a, b) => b.length - a.length);
    if (longestFirst.length > 0) this.anyOfThem = new RegExp(longestFirst.map(escaped).join('|'), 'gu');
  }

  /** `hidesSpecial`: a special token that is found is text. */
  *split(text: string, hidesSpecial: boolean): Generator<Fragment, void> {
    let done = 0;
    for (const { index, 0: spelling } of this.anyOfThem ? text.matchAll(this.anyOfThem) : []) {
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

const escaped = (text: string) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');

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

/** A piece of normal text or the id of a token, and whether it is as good as typed: no special token may come of it. */
export interface Piece {
  readonly fragment: Fragment;
  readonly isTyped: boolean;
}

/** The added tokens of a file: some are looked for in the text as it is, the others once it is normalised. */
export class AddedTokens {
  private readonly asWritten: Matcher;
  private readonly inNormal: Matcher;
  /** The special ones of the latter, as they are: what a template writes. */
  private readonly specialInNormal: Matcher;

  constructor(
    tokens: readonly AddedToken[],
    private readonly normalize: Normalizer,
  ) {
    const some = (isWanted: (token: AddedToken) => boolean, spell: Normalizer) =>
      new Matcher(tokens.filter(isWanted).map((token) => [spell(token.content), token]));
    this.asWritten = some(
      ({ normalized }) => !normalized,
      (content) => content,
    );
    this.inNormal = some(({ normalized }) => normalized, normalize);
    this.specialInNormal = some(
      ({ normalized, special }) => normalized && special,
      (content) => content,
    );
  }

  *split(text: string, { special, mark }: EncodeOptions): Generator<Piece, void> {
    if (special !== 'parse') yield* this.plain(text, true);
    else if (!mark || !text.includes(mark)) yield* this.plain(text, false);
    else yield* this.marked(text, mark);
  }

  private *plain(text: string, isTyped: boolean): Generator<Piece, void> {
    for (const fragment of this.asWritten.split(text, isTyped)) {
      if (typeof fragment === 'number') yield { fragment, isTyped };
      else yield* this.normal(fragment, isTyped);
    }
  }

  private *normal(text: string, isTyped: boolean): Generator<Piece, void> {
    for (const fragment of this.inNormal.split(this.normalize(text), isTyped)) yield { fragment, isTyped };
  }

  /** Special tokens first; text that then holds the mark is as good as typed. */
  private *marked(text: string, mark: string): Generator<Piece, void> {
    for (const part of this.asWritten.split(text, false)) {
      const pieces = typeof part === 'number' ? [part] : this.specialInNormal.split(part, false);
      for (const piece of pieces) {
        if (typeof piece === 'number') yield { fragment: piece, isTyped: false };
        else if (piece.includes(mark)) yield* this.plain(piece.replaceAll(mark, ''), true);
        else yield* this.normal(piece, false);
      }
    }
  }
}
