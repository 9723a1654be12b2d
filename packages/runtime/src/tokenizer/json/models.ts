import type { Cooperative } from '@quern/core';
import { badVocabulary, TokenizerError } from '../error.js';
import { BpeModel } from './bpe.js';
import { Fields, isJson, type Json } from './fields.js';
import type { ModelTokens } from './model-tokens.js';
import { UnigramModel } from './unigram-model.js';
import { WordLevelModel } from './word-level.js';
import type { Models } from './word-model.js';
import { WordPieceModel } from './word-piece-model.js';

export const modelKinds = ['BPE', 'WordPiece', 'WordLevel', 'Unigram'] as const;
export type ModelKind = (typeof modelKinds)[number];

/** The kind: from `type`, or in older files from the present fields. */
export function kindOf(model: Json): ModelKind {
  const { type } = model;
  const known = modelKinds.find((kind) => kind === type);
  if (known) return known;
  if (typeof type === 'string')
    throw new TokenizerError(
      'UNKNOWN_TOKENIZER',
      `tokenizer.json: the model is of the type "${type.slice(0, 60)}", which this version lacks; it has ${modelKinds.join(', ')}`,
    );
  if (Array.isArray(model.vocab)) return 'Unigram';
  if (Array.isArray(model.merges)) return 'BPE';
  return 'max_input_chars_per_word' in model || 'continuing_subword_prefix' in model
    ? 'WordPiece'
    : 'WordLevel';
}

/** @throws TokenizerError UNKNOWN_TOKENIZER, BAD_VOCABULARY */
export function* modelsOf(model: unknown, tokens: ModelTokens): Cooperative<Models> {
  if (!isJson(model)) throw badVocabulary('tokenizer.json has no vocabulary: model is missing');
  const fields = new Fields(model, 'model');
  const kind = kindOf(model);
  if (kind === 'BPE') return yield* BpeModel.of(fields, tokens);
  const makers = { WordPiece: WordPieceModel, WordLevel: WordLevelModel, Unigram: UnigramModel };
  const Model = makers[kind];
  return {
    parsing: new Model(fields, tokens, tokens.find),
    typed: new Model(fields, tokens, tokens.findPlain),
  };
}
