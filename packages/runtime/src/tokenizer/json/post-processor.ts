import { badVocabulary } from '../error.js';
import { type Fields, isJson, type Makers, make } from './fields.js';

/** Tokens added before and after a text. */
export interface Frame {
  readonly prefix: readonly number[];
  readonly suffix: readonly number[];
}

const bare: Frame = { prefix: [], suffix: [] };

const makers: Makers<Frame> = {
  BertProcessing: clsAndSep,
  ByteLevel: () => bare,
  RobertaProcessing: clsAndSep,
  Sequence: (fields) => fields.objects('processors').map(frameOf).reduce(around, bare),
  TemplateProcessing: template,
};

/** @throws TokenizerError UNKNOWN_TOKENIZER, BAD_VOCABULARY */
export function frameOf(fields: Fields): Frame {
  return make(makers, fields);
}

const around = (inner: Frame, outer: Frame): Frame => ({
  prefix: [...outer.prefix, ...inner.prefix],
  suffix: [...inner.suffix, ...outer.suffix],
});

function clsAndSep(fields: Fields): Frame {
  return { prefix: [tokenId(fields, 'cls')], suffix: [tokenId(fields, 'sep')] };
}

/** `["[CLS]", 101]` */
function tokenId(fields: Fields, key: string): number {
  const id = fields.list(key)[1];
  if (typeof id === 'number' && Number.isSafeInteger(id) && id >= 0) return id;
  throw badVocabulary(`tokenizer.json: ${fields.where}.${key} must be a token and its id`);
}

/** `single`: special tokens around sequence A. */
function template(fields: Fields): Frame {
  const pieces = fields.objects('single');
  const isSequence = (piece: Fields) => isJson(piece.json.Sequence);
  const at = pieces.findIndex(isSequence);
  if (at < 0 || pieces.filter(isSequence).length > 1)
    throw badVocabulary(
      `tokenizer.json: ${fields.where}.single must have the text, Sequence A, exactly once`,
    );
  const ids = (some: readonly Fields[]) => some.flatMap((piece) => specialIds(fields, piece));
  return { prefix: ids(pieces.slice(0, at)), suffix: ids(pieces.slice(at + 1)) };
}

function specialIds(fields: Fields, piece: Fields): number[] {
  const name = piece.object('SpecialToken').string('id');
  const special = fields.object('special_tokens').object(name);
  const ids = special.list('ids');
  const isIds = (list: readonly unknown[]): list is number[] =>
    list.every((id) => typeof id === 'number' && Number.isSafeInteger(id) && id >= 0);
  if (isIds(ids)) return ids;
  throw badVocabulary(`tokenizer.json: ${special.where}.ids must be token ids`);
}
