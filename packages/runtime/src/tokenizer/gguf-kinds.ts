import type { Cooperative } from '@quern/core';
import { byteCharacters, fromByteLevel } from './byte-level.js';
import { Charsmap } from './charsmap.js';
import { badVocabulary, TokenizerError } from './error.js';
import type { GgufFields } from './gguf-fields.js';
import { MergeListBpe } from './merge-list-bpe.js';
import { mergeListRules } from './merge-list-rules.js';
import type { PreTokenizer } from './pre-tokenizer.js';
import { preTokenizer } from './pre-tokenizers.js';
import { fromSpaceMarks, SentencePieceBpe } from './sentencepiece-bpe.js';
import type { TextModel } from './tokenizer.js';
import { Unigram } from './unigram.js';
import type { Vocabulary } from './vocabulary.js';
import { WordPiece } from './word-piece.js';

/** Defaults of a kind of tokenizer; the file's own settings override them. */
export interface Defaults {
  addBos: boolean;
  /** Add BOS even if the file says otherwise. */
  alwaysBos?: boolean | undefined;
  addEos: boolean;
  addSpacePrefix: boolean;
  bos?: number;
  eos?: number;
  unknown?: number;
}

export interface Kind {
  defaults: (fields: GgufFields) => Defaults;
  toBytes: (spelling: string) => Uint8Array;
  model: (vocabulary: Vocabulary, fields: GgufFields, settings: Defaults) => Cooperative<TextModel>;
  /** Whether tokens spelled <0x00> to <0xFF> are byte tokens, for any type in the file. */
  spellsBytes: boolean;
  /** Whether every byte of a text belongs to some token; then a token's text has a maximal length. */
  standsForBytes: (vocabulary: Vocabulary) => boolean;
}

const hasAllBytes = (vocabulary: Vocabulary) => vocabulary.byteTokens().every((id) => id >= 0);

const sentencePiece: Kind = {
  spellsBytes: false,
  standsForBytes: hasAllBytes,
  defaults: () => ({ addBos: true, addEos: false, addSpacePrefix: true, bos: 1, eos: 2, unknown: 0 }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, fields, { addSpacePrefix, unknown }) =>
    SentencePieceBpe.of(vocabulary, scores(fields, vocabulary.size), addSpacePrefix, unknown),
};

/** BPE with a merge list, for a pre-tokenizer. */
const mergeList = (pre: PreTokenizer): Kind => ({
  ...(pre.characters ? ofCharacters(pre.characters) : ofBytes),
  defaults: () => ({
    addBos: pre.addBos ?? false,
    alwaysBos: pre.alwaysBos,
    addEos: false,
    addSpacePrefix: false,
  }),
  *model(vocabulary, fields, { unknown }) {
    const merges = fields.strings('merges');
    if (!merges)
      throw badVocabulary(
        'tokenizer.ggml.merges is missing: a BPE tokenizer cannot join bytes or characters without it',
      );
    const lowercases = fields.boolean('normalizer.lowercase') ?? false;
    const rules = yield* mergeListRules(pre, { vocabulary, merges, unknown, lowercases });
    return yield* MergeListBpe.of(vocabulary, merges, rules);
  },
});

type Spelling = Pick<Kind, 'spellsBytes' | 'standsForBytes' | 'toBytes'>;

const ofBytes: Spelling = {
  spellsBytes: false,
  standsForBytes: (vocabulary) => byteCharacters.every((byte) => vocabulary.find(byte) !== undefined),
  toBytes: fromByteLevel,
};

const ofCharacters = (characters: 'space marks' | 'no spaces'): Spelling => ({
  spellsBytes: true,
  standsForBytes: (vocabulary) => characters === 'space marks' && hasAllBytes(vocabulary),
  toBytes: characters === 'space marks' ? fromSpaceMarks : (spelling) => utf8.encode(spelling),
});

const utf8 = new TextEncoder();

const unigram: Kind = {
  spellsBytes: false,
  standsForBytes: () => false,
  defaults: () => ({ addBos: false, addEos: true, addSpacePrefix: true, eos: 1, unknown: 2 }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, fields, { addSpacePrefix, unknown }) => {
    if (unknown === undefined)
      throw badVocabulary('tokenizer.ggml.unknown_token_id is missing: a "t5" tokenizer needs it');
    const charsmap = fields.bytes('precompiled_charsmap');
    return Unigram.of(vocabulary, scores(fields, vocabulary.size), {
      unknown,
      addSpacePrefix,
      removeExtraSpaces: fields.boolean('remove_extra_whitespaces') ?? false,
      charsmap: charsmap?.length ? new Charsmap(charsmap) : undefined,
    });
  },
};

/** Texts start with [CLS] and end with [SEP]; converters misspell its key ("seperator"). */
const wordPiece: Kind = {
  spellsBytes: false,
  standsForBytes: () => false,
  defaults: (fields) => ({
    addBos: true,
    addEos: true,
    addSpacePrefix: true,
    bos: fields.anyToken('cls_token_id') ?? 101,
    eos: fields.anyToken('seperator_token_id') ?? 102,
    unknown: 100,
  }),
  toBytes: fromSpaceMarks,
  model: (vocabulary, _fields, { unknown }) => {
    if (unknown === undefined)
      throw badVocabulary('tokenizer.ggml.unknown_token_id is missing: a "bert" tokenizer needs it');
    return WordPiece.of(vocabulary, unknown);
  },
};

/** By the values of `tokenizer.ggml.model`. */
const KINDS: Readonly<Record<string, (fields: GgufFields) => Kind>> = {
  llama: () => sentencePiece,
  gpt2: (fields) => mergeList(preTokenizer(fields.string('pre') || 'default')),
  gemma4: () => mergeList(preTokenizer('gemma4')),
  whitespace: () => mergeList(preTokenizer('whitespace')),
  t5: () => unigram,
  bert: () => wordPiece,
};

/** @throws TokenizerError UNKNOWN_TOKENIZER, UNKNOWN_PRETOKENIZER or BAD_VOCABULARY */
export function kindOf(fields: GgufFields): Kind {
  const name = fields.string('model');
  if (name === undefined) throw badVocabulary('tokenizer.ggml.model is missing: the file has no tokenizer');
  const kind = Object.hasOwn(KINDS, name) ? KINDS[name] : undefined;
  if (kind) return kind(fields);
  throw new TokenizerError(
    'UNKNOWN_TOKENIZER',
    `tokenizer.ggml.model is "${name}"; this version knows ${Object.keys(KINDS).join(', ')}`,
  );
}

const scores = (fields: GgufFields, size: number) => fields.numbers('scores', size) ?? new Float32Array(size);
