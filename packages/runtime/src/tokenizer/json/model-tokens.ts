import { type Cooperative, eachOf } from '@quern/core';
import { badVocabulary } from '../error.js';
import { isJson, type Json } from './fields.js';

export type Find = (spelling: string) => number | undefined;

/** The vocabulary of a model, without added tokens. */
export class ModelTokens {
  private readonly ids = new Map<string, number>();
  /** Whether a token is special: no text may become it. */
  private isSpecial: (id: number) => boolean = () => false;

  private constructor(readonly entries: readonly (readonly [spelling: string, id: number])[]) {}

  /** BPE, WordPiece and WordLevel: `{spelling: id}`; Unigram: `[[spelling, score], …]`. */
  static *of(model: Json): Cooperative<ModelTokens> {
    const tokens = new ModelTokens(entriesOf(model));
    yield* eachOf(tokens.entries, ([spelling, id]) => void tokens.ids.set(spelling, id));
    return tokens;
  }

  hide(isSpecial: (id: number) => boolean): void {
    this.isSpecial = isSpecial;
  }

  readonly find: Find = (spelling) => this.ids.get(spelling);

  readonly findPlain: Find = (spelling) => {
    const id = this.ids.get(spelling);
    return id !== undefined && this.isSpecial(id) ? undefined : id;
  };

  /** The id of a token named by the file. */
  need(spelling: string, where: string): number {
    const id = this.ids.get(spelling);
    if (id !== undefined) return id;
    throw badVocabulary(`tokenizer.json: ${where} names "${spelling}", which is not in the vocabulary`);
  }

  /** The tokens of the bytes 0 to 255 ("<0x0A>"); undefined where one is missing. */
  byteTokens(): readonly (number | undefined)[] {
    return Array.from({ length: 256 }, (_, byte) =>
      this.find(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`),
    );
  }
}

function entriesOf({ vocab }: Json): readonly (readonly [string, number])[] {
  if (Array.isArray(vocab)) {
    const pieces: readonly unknown[] = vocab;
    return pieces.map((piece, id) => [Array.isArray(piece) ? String(piece[0]) : String(piece), id]);
  }
  if (!isJson(vocab)) return [];
  // Object.entries takes three times as long for an object of this size
  return Object.keys(vocab).map((spelling) => [spelling, needId(vocab[spelling], spelling)]);
}

/** An id from a file. Gaps between ids are checked later, when all ids are known. */
export function needId(id: unknown, spelling: string): number {
  if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) return id;
  throw badVocabulary(
    `tokenizer.json gives the token "${spelling.slice(0, 60)}" the id ${String(id)}; ids are whole numbers from 0`,
  );
}
