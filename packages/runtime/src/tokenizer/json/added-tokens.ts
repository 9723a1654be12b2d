import { badVocabulary } from '../error.js';
import type { Fragment } from '../special-tokens.js';
import { type MatchedToken, TokenMatcher } from '../token-matcher.js';
import type { EncodeOptions } from '../tokenizer.js';
import { isJson, type Json } from './fields.js';
import { needId } from './model-tokens.js';
import { type Normalization, normalizeInParts } from './normal-parts.js';
import type { Normalizer } from './normalizer.js';

/** An entry of tokenizer.json's `added_tokens`. */
export interface AddedToken extends MatchedToken {
  readonly content: string;
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

/** Normalised text or a token id. `isTyped`: the text must not become a special token. */
export interface Piece {
  readonly fragment: Fragment;
  readonly isTyped: boolean;
}

const pieceOf = (fragment: Fragment | undefined, isTyped: boolean): Piece | undefined =>
  fragment === undefined ? undefined : { fragment, isTyped };

/** The added tokens of a file. Some are matched in the raw text, the others in the normalised text. */
export class AddedTokens {
  private readonly asWritten: TokenMatcher;
  private readonly inNormal: TokenMatcher;
  /** The special tokens among `inNormal`, in raw spelling, as templates write them. */
  private readonly specialInNormal: TokenMatcher;

  constructor(
    tokens: readonly AddedToken[],
    private readonly normalization: Normalization,
  ) {
    const some = (isWanted: (token: AddedToken) => boolean, spell: Normalizer) =>
      new TokenMatcher(tokens.filter(isWanted).map((token) => [spell(token.content), token]));
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
