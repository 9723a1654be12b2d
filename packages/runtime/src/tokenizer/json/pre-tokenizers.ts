import { byteLevelWords, toByteLevel } from '../byte-level.js';
import { PUNCTUATION, WHITESPACE, WORD } from './characters.js';
import { type Fields, type Makers, make } from './fields.js';
import { metaspace } from './metaspace.js';
import { literal, type Pattern, patternField, patternOf } from './pattern.js';
import type { PreTokenizer, Split } from './pre-tokenizer.js';
import { type Behavior, behaviors, piecesOf, segmentsOf } from './segments.js';
import { scriptPieces } from './unicode-scripts.js';

const splitBy =
  (pattern: Pattern, behavior: Behavior, invert = false): Split =>
  (text) =>
    piecesOf(text, segmentsOf(text, pattern(text), invert), behavior);

const characters = (set: string): Pattern => patternOf(new RegExp(`[${set}]`, 'gu'));
const whitespace = patternOf(new RegExp(`[${WHITESPACE}]{1,4096}`, 'gu'));
const punctuation = characters(PUNCTUATION);
const digits = characters('\\p{N}');
const words = patternOf(new RegExp(`[${WORD}]+|[^${WORD}${WHITESPACE}]+`, 'gu'));
const gpt2Words = patternOf(byteLevelWords);

const removeWhitespace = splitBy(whitespace, 'Removed');

const makers: Makers<PreTokenizer> = {
  BertPreTokenizer: () => inOrder([{ split: removeWhitespace }, { split: splitBy(punctuation, 'Isolated') }]),
  ByteLevel: byteLevel,
  CharDelimiterSplit: (fields) => ({ split: splitBy(literal(fields.string('delimiter')), 'Removed') }),
  Digits: (fields) => ({
    split: splitBy(digits, fields.boolean('individual_digits', false) ? 'Isolated' : 'Contiguous'),
  }),
  FixedLength: (fields) => ({ split: fixedLength(Math.max(1, fields.count('length'))) }),
  Metaspace: (fields) => ({ split: metaspace(fields) }),
  Punctuation: (fields) => ({
    split: splitBy(punctuation, fields.oneOf('behavior', behaviors, 'Isolated')),
  }),
  Sequence: (fields) => inOrder(fields.objects('pretokenizers').map(preTokenizerOf)),
  Split: (fields) => ({
    split: splitBy(
      patternField(fields),
      fields.oneOf('behavior', behaviors),
      fields.boolean('invert', false),
    ),
  }),
  UnicodeScripts: () => ({ split: scriptPieces }),
  Whitespace: () => ({ split: splitBy(words, 'Removed', true) }),
  WhitespaceSplit: () => ({ split: removeWhitespace }),
};

/** @throws TokenizerError UNKNOWN_TOKENIZER, BAD_VOCABULARY */
export function preTokenizerOf(fields: Fields): PreTokenizer {
  return make(makers, fields);
}

/** GPT-2's: splits into words; `spell` gives a word's byte-level spelling. */
function byteLevel(fields: Fields): PreTokenizer {
  const addPrefixSpace = fields.boolean('add_prefix_space', true);
  const split = fields.boolean('use_regex', true) ? splitBy(gpt2Words, 'Isolated') : whole;
  const spaced: Split = (text, first) => split(text.startsWith(' ') ? text : ` ${text}`, first);
  return { split: addPrefixSpace ? spaced : split, spell: toByteLevel };
}

const whole: Split = (text) => [text];

/**
 * Steps in order: each step spells its pieces, then the next step splits them. The last step's spelling is left to the
 * model.
 */
function inOrder(steps: readonly PreTokenizer[]): PreTokenizer {
  const last = steps.at(-1);
  if (!last) return { split: whole };
  const split = steps.slice(0, -1).map(spelled).reduceRight(followedBy, last.split);
  return { split, ...(last.spell && { spell: last.spell }) };
}

function spelled({ split, spell }: PreTokenizer): Split {
  if (!spell) return split;
  return function* (text, first) {
    for (const piece of split(text, first)) yield piece === '' ? '' : spell(piece);
  };
}

/** `first` is true only for the first piece of the first text. */
function followedBy(next: Split, split: Split): Split {
  return function* (text, first) {
    let beginning = first;
    for (const piece of split(text, first)) {
      if (piece === '') {
        yield '';
        continue;
      }
      yield* next(piece, beginning && text.startsWith(piece));
      beginning = false;
    }
  };
}

/** Pieces of `length` characters; the last piece may be shorter. */
const fixedLength = (length: number): Split =>
  function* (text) {
    let start = 0;
    for (let end = 0, count = 0; end < text.length; ) {
      end += text.codePointAt(end)! > 0xffff ? 2 : 1;
      if (++count % length !== 0 && end < text.length) continue;
      yield text.slice(start, end);
      start = end;
    }
  };
