import { toByteLevel } from '../byte-level.js';
import { badVocabulary } from '../error.js';
import { bertNormalizer } from './bert-normalizer.js';
import { lowerCase, WHITESPACE } from './characters.js';
import { type Fields, type Makers, make } from './fields.js';
import { isLocal, type Normalization } from './normal-parts.js';
import type { Normalizer } from './normalizer.js';
import { patternField } from './pattern.js';
import { precompiled } from './precompiled.js';
import { replacing } from './replace.js';

const marks = /\p{M}+/gu;
const atStart = new RegExp(`^[${WHITESPACE}]+`, 'u');
const nmtRemoved = /(?![\t\n\f\r\x80-\x8e\x90-\x9e])[^\P{Cc}\0]/gu;
const nmtSpaces = /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/g;

const makers: Makers<Normalizer> = {
  BertNormalizer: bertNormalizer,
  ByteLevel: () => toByteLevel,
  Lowercase: () => lowerCase,
  NFC: () => (text) => text.normalize('NFC'),
  NFD: () => (text) => text.normalize('NFD'),
  NFKC: () => (text) => text.normalize('NFKC'),
  NFKD: () => (text) => text.normalize('NFKD'),
  Nmt: () => (text) => text.replace(nmtRemoved, '').replace(nmtSpaces, ' '),
  Precompiled: precompiled,
  Prepend: (fields) => {
    const prepended = fields.string('prepend');
    return (text) => (text === '' ? '' : prepended + text);
  },
  Replace: (fields) => replacing(patternField(fields), fields.string('content')),
  Sequence: (fields) => inOrder(fields.objects('normalizers').map(normalizerOf), fields.where),
  Strip: strip,
  StripAccents: () => (text) => text.replace(marks, ''),
};

/** @throws TokenizerError UNKNOWN_TOKENIZER, BAD_VOCABULARY */
export const normalizationOf = (fields: Fields): Normalization => ({
  normalize: normalizerOf(fields),
  isLocal: isLocal(fields),
});

function normalizerOf(fields: Fields): Normalizer {
  const normalize = make(makers, fields);
  return (text) => needBounded(text, normalize(text), fields.where);
}

const inOrder =
  (steps: readonly Normalizer[], where: string): Normalizer =>
  (text) =>
    steps.reduce((normal, step) => needBounded(text, step(normal), where), text);

function strip(fields: Fields): Normalizer {
  const left = fields.boolean('strip_left', true);
  const right = fields.boolean('strip_right', true);
  return (text) => {
    const rest = left ? text.replace(atStart, '') : text;
    return right ? rest.slice(0, endOfText(rest)) : rest;
  };
}

const space = new RegExp(`[${WHITESPACE}]`, 'u');

/** Start of the trailing white space. Searched from the end: a pattern would take quadratic time on runs of spaces. */
function endOfText(text: string): number {
  let end = text.length;
  while (end > 0 && space.test(text[end - 1]!)) end--;
  return end;
}

/** NFKD turns one character into up to 18; steps that each double a text would exhaust memory. */
const MOST_GROWTH = 64;
const ALLOWANCE = 4096;

function needBounded(text: string, normal: string, where: string): string {
  if (normal.length <= text.length * MOST_GROWTH + ALLOWANCE) return normal;
  throw badVocabulary(
    `tokenizer.json: ${where} makes ${normal.length} characters of ${text.length}; more than ${MOST_GROWTH} of one are refused`,
  );
}
