import { toUSVString } from 'node:util';
import { type Cooperative, runAtOnce, runInTurns } from '@quern/core';
import type { FimTokens } from '../fim-tokens.js';
import { checkDecode, checkEncode, checkEncodeInTurns } from '../options.js';
import type { TextSteps } from '../text-steps.js';
import { decodeTokens } from '../token-stream.js';
import type {
  DecodeOptions,
  EncodeInTurnsOptions,
  EncodeOptions,
  TextModel,
  Tokenizer,
} from '../tokenizer.js';
import { untilFull } from '../until-full.js';
import type { Vocabulary } from '../vocabulary.js';
import type { AddedTokens } from './added-tokens.js';
import type { Decoder } from './decoders.js';
import type { Frame } from './post-processor.js';

/** The parts of a tokenizer from a tokenizer.json and its neighbouring files. */
export interface JsonParts {
  readonly vocabulary: Vocabulary;
  readonly addedTokens: AddedTokens;
  /** `parsing`: for text of a template. `typed`: for text of a user. */
  readonly parsing: TextModel;
  readonly typed: TextModel;
  readonly frame: Frame;
  readonly decoder: Decoder;
  readonly bos: number | undefined;
  readonly eos: number | undefined;
  readonly eog: ReadonlySet<number>;
  readonly addBos: boolean | undefined;
  readonly addEos: boolean | undefined;
  readonly addSpacePrefix: boolean;
  readonly longestToken: number | undefined;
  readonly fim: FimTokens | undefined;
}

/** A tokenizer.json, with the behaviour of Hugging Face's tokenizers. */
export class JsonTokenizer implements Tokenizer {
  readonly bos?: number;
  readonly eos?: number;
  readonly eog: ReadonlySet<number>;
  readonly fim?: FimTokens;
  readonly addBos: boolean;
  readonly addEos: boolean;
  readonly addSpacePrefix: boolean;
  readonly longestToken?: number;
  private readonly prefix: readonly number[];
  private readonly suffix: readonly number[];

  constructor(private readonly parts: JsonParts) {
    const { bos, eos, frame, longestToken } = parts;
    if (bos !== undefined) this.bos = bos;
    if (eos !== undefined) this.eos = eos;
    if (longestToken !== undefined) this.longestToken = longestToken;
    this.eog = parts.eog;
    if (parts.fim) this.fim = parts.fim;
    this.addSpacePrefix = parts.addSpacePrefix;
    this.prefix = frame.prefix.length > 0 || bos === undefined ? frame.prefix : [bos];
    this.suffix = frame.suffix.length > 0 || eos === undefined ? frame.suffix : [eos];
    this.addBos = parts.addBos ?? frame.prefix.length > 0;
    this.addEos = parts.addEos ?? frame.suffix.length > 0;
  }

  get vocabSize(): number {
    return this.parts.vocabulary.size;
  }

  encode(text: string, options: EncodeOptions = {}): number[] {
    checkEncode(text, options);
    return runAtOnce(this.idsOf(text, options));
  }

  async encodeInTurns(text: string, options: EncodeInTurnsOptions = {}): Promise<number[]> {
    checkEncodeInTurns(text, options);
    return runInTurns(this.idsOf(text, options));
  }

  decode(ids: Iterable<number>, options: DecodeOptions = {}): string {
    checkDecode(ids, options);
    return decodeTokens(this, ids, options);
  }

  textSteps(continues: boolean, streams: boolean): TextSteps {
    const step = this.parts.decoder({ continues, streams });
    return { push: (id) => step.push(this.tokenText(id)).join(''), flush: () => step.end().join('') };
  }

  tokenBytes(id: number): Uint8Array {
    return this.parts.vocabulary.bytes(id);
  }

  tokenText(id: number): string {
    return this.parts.vocabulary.spelling(id);
  }

  isControl(id: number): boolean {
    return this.parts.vocabulary.isControl(id);
  }

  private *idsOf(text: string, options: EncodeInTurnsOptions): Cooperative<number[]> {
    const { limit = Number.POSITIVE_INFINITY } = options;
    const ids = (options.addBos ?? this.addBos) ? [...this.prefix] : [];
    let isFirst = true;
    for (const piece of this.parts.addedTokens.split(toUSVString(text), options)) {
      if (!piece) {
        yield;
        continue;
      }
      const { fragment, isTyped } = piece;
      const model = isTyped ? this.parts.typed : this.parts.parsing;
      if (typeof fragment === 'number') ids.push(fragment);
      else yield* untilFull(model.encode(fragment, isFirst, ids), ids, limit);
      if (ids.length > limit) return ids;
      isFirst = false;
    }
    if (options.addEos ?? this.addEos) ids.push(...this.suffix);
    return ids;
  }
}
