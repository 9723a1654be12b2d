import { badVocabulary } from '../error.js';
import type { Fields } from './fields.js';
import { literal } from './pattern.js';
import type { Split } from './pre-tokenizer.js';
import { piecesOf, segmentsOf } from './segments.js';

const schemes = ['always', 'first', 'never'] as const;

/** The settings of a Metaspace step, as pre-tokenizer and as decoder. */
export interface MetaspaceRules {
  /** Replaces a space. */
  readonly mark: string;
  /** Where a mark is added before a text without one. */
  readonly prepend: (typeof schemes)[number];
}

export function metaspaceRules(fields: Fields): MetaspaceRules {
  const mark = fields.string('replacement', '\u2581');
  if ([...mark].length !== 1)
    throw badVocabulary(`tokenizer.json: ${fields.where}.replacement must be one character; it is "${mark}"`);
  const older = fields.boolean('add_prefix_space', true) ? 'always' : 'never';
  return { mark, prepend: fields.oneOf('prepend_scheme', schemes, older) };
}

/** Replaces spaces by marks; every mark starts a piece. */
export function metaspace(fields: Fields): Split {
  const { mark, prepend } = metaspaceRules(fields);
  const split = fields.boolean('split', true);
  const marks = literal(mark);
  return (text, first) => {
    const marked = text.replaceAll(' ', mark);
    const prepends = (prepend === 'always' || (prepend === 'first' && first)) && !marked.startsWith(mark);
    const all = prepends ? mark + marked : marked;
    return split ? piecesOf(all, segmentsOf(all, marks(all)), 'MergedWithNext') : [all];
  };
}
