import { badVocabulary } from '../error.js';
import { byteFallback } from './byte-fallback.js';
import { byteLevelText } from './byte-level-text.js';
import type { DecodeStart } from './decode-start.js';
import { type DecoderStep, eachToken, fused, inOrder } from './decoder-step.js';
import { type Fields, isJson, type Json, type Makers, make } from './fields.js';
import { metaspaceRules } from './metaspace.js';
import { literal, patternField } from './pattern.js';
import { replacing } from './replace.js';
import { stripFused, stripped } from './strip-step.js';

/** Makes the steps of one decoding. */
export type Decoder = (start: DecodeStart) => DecoderStep;

const makers: Makers<Decoder> = {
  BPEDecoder: endOfWords,
  ByteFallback: () => byteFallback,
  ByteLevel: () => byteLevelText,
  CTC: ctc,
  Fuse: () => () => eachToken((token) => token),
  Metaspace: metaspace,
  Replace: (fields) => {
    const replace = replacing(patternField(fields), fields.string('content'));
    return () => eachToken(replace);
  },
  Strip: (fields) => {
    const { content, start, stop } = stripRules(fields);
    return () => eachToken((token) => stripped(token, content, start, stop));
  },
  WordPiece: wordPiece,
};

/** @throws TokenizerError UNKNOWN_TOKENIZER, BAD_VOCABULARY */
export function decoderOf(fields: Fields): Decoder {
  const steps = leavesOf(fields);
  const fuses = steps.findIndex(({ type }) => type === 'Fuse' || type === 'ByteLevel');
  if (fuses < 0) return sequence(steps.map((step) => make(makers, step)));
  const before = sequence(steps.slice(0, fuses + 1).map((step) => make(makers, step)));
  const after = steps.slice(fuses + 1);
  const whole = sequence(after.map((step) => make(makers, step)));
  const growing = after.every(worksOnParts) ? sequence(after.map(onParts)) : undefined;
  return (start) =>
    start.streams && growing
      ? inOrder([before(start), growing(start)])
      : inOrder([fused(before(start)), whole(start)]);
}

const leavesOf = (fields: Fields): Fields[] =>
  fields.type === 'Sequence' ? fields.objects('decoders').flatMap(leavesOf) : [fields];

const sequence =
  (steps: readonly Decoder[]): Decoder =>
  (start) =>
    inOrder(steps.map((step) => step(start)));

/** Whether a step works on the parts of the fused token. */
function worksOnParts(fields: Fields): boolean {
  if (fields.type !== 'Replace') return fields.type === 'Strip' || fields.type === 'Fuse';
  return [...String(fields.object('pattern').json.String ?? '')].length === 1;
}

function onParts(fields: Fields): Decoder {
  if (fields.type !== 'Strip') return make(makers, fields);
  const { content, start, stop } = stripRules(fields);
  return ({ continues }) => stripFused(content, start, stop, continues);
}

/** @throws TokenizerError BAD_VOCABULARY for empty content, which would match endlessly */
function stripRules(fields: Fields) {
  const content = fields.string('content');
  if (content === '')
    throw badVocabulary(`tokenizer.json: ${fields.where}.content is empty; expected a character`);
  return { content, start: fields.count('start', 0), stop: fields.count('stop', 0) };
}

/** Without a decoder, spaces separate tokens. */
export const wordsApart: Decoder = ({ continues }) => {
  let isFirst = !continues;
  return eachToken((token) => {
    const text = isFirst ? token : ` ${token}`;
    isFirst = false;
    return text;
  });
};

function metaspace(fields: Fields): Decoder {
  const { mark, prepend } = metaspaceRules(fields);
  return ({ continues }) => {
    let dropsMarks = !continues && prepend !== 'never';
    return eachToken((token) => {
      const text = token.replaceAll(mark, dropsMarks ? '' : ' ');
      dropsMarks = false;
      return text;
    });
  };
}

function wordPiece(fields: Fields): Decoder {
  const prefix = fields.string('prefix', '##');
  const clean = fields.boolean('cleanup', true) ? cleanUp : (text: string) => text;
  return ({ continues }) => {
    let isFirst = !continues;
    return eachToken((token) => {
      const isPart = prefix !== '' && token.startsWith(prefix);
      const text = isFirst ? token : isPart ? token.slice(prefix.length) : ` ${token}`;
      isFirst = false;
      return clean(text);
    });
  };
}

/** Removes the spaces that BERT's tokenizer adds before punctuation and inside English contractions. */
const CLEANED = [
  [' .', '.'],
  [' ?', '?'],
  [' !', '!'],
  [' ,', ','],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [' do not', " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
] as const;

function cleanUp(text: string): string {
  return CLEANED.reduce((clean, [spaced, plain]) => clean.replaceAll(spaced, plain), text);
}

/** The suffix that ends a word becomes a space, except at the last word. Each token waits for the next one. */
function endOfWords(fields: Fields): Decoder {
  const suffix = fields.string('suffix', '</w>');
  const replaced = (token: string, space: string) => replacing(literal(suffix), space)(token);
  return () => {
    let held: string | undefined;
    return {
      push(token) {
        const texts = held === undefined ? [] : [replaced(held, ' ')];
        held = token;
        return texts;
      },
      end: () => (held === undefined ? [] : [replaced(held, '')]),
    };
  };
}

/** CTC: of equal consecutive tokens one is kept (Graves et al. 2006); padding is removed. */
function ctc(fields: Fields): Decoder {
  const padding = fields.string('pad_token', '<pad>');
  const space = fields.string('word_delimiter_token', '|');
  const clean = fields.boolean('cleanup', true);
  const text = (token: string) => {
    const letters = replacing(literal(padding), '')(token);
    return clean ? replacing(literal(space), ' ')(cleanUp(letters)) : letters;
  };
  return () => {
    let last: string | undefined;
    return {
      push(token) {
        const texts = token === last ? [] : [text(token)].filter(Boolean);
        last = token;
        return texts;
      },
      end: () => [],
    };
  };
}

/** The steps of a decoder, with nested sequences flattened. */
export function decoderSteps(decoder: unknown): Json[] {
  if (!isJson(decoder)) return [];
  return decoder.type === 'Sequence' && Array.isArray(decoder.decoders)
    ? decoder.decoders.flatMap(decoderSteps)
    : [decoder];
}
