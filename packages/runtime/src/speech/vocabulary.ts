import { type Tokenizer, TokenizerError } from '../tokenizer/index.js';
import { languages } from './languages.js';

/** The ids of control tokens. */
export interface SpecialIds {
  /** Ends a window's text. Lower ids are text, higher ids are special. */
  readonly endOfText: number;
  readonly start: number;
  readonly translate: number;
  readonly transcribe: number;
  /** Precedes the text of the previous window. */
  readonly startOfPrevious: number;
  readonly noSpeech: number;
  readonly noTimestamps: number;
  /** <|0.00|>; each id after it is 20 ms later. */
  readonly firstTimestamp: number;
  /** By code. An English-only model has the tokens, but does not accept them. */
  readonly languages: ReadonlyMap<string, number>;
  readonly multilingual: boolean;
}

/** Whisper's vocabulary, from any file format. */
export interface SpeechVocabulary {
  readonly size: number;
  readonly ids: SpecialIds;
  /** The bytes of a text token. */
  bytes(id: number): Uint8Array;
  /** Text to tokens; absent where the file has no merges. */
  encode?(text: string): number[];
}

/** endoftext of the English-only vocabulary (GPT-2's). */
const englishEnd = 50_256;
/** <|0.00|> to <|30.00|>. */
export const timestampCount = 1501;
/**
 * Number of special tokens between endoftext and the timestamps, without languages: start, translate, transcribe, and
 * four more.
 */
const otherSpecials = 7;

/** @throws TokenizerError BAD_VOCABULARY where a control token of Whisper is missing. */
export function vocabularyOf(tokenizer: Tokenizer): SpeechVocabulary {
  const find = (spelling: string): number | undefined => {
    const [id, ...more] = tokenizer.encode(spelling, { special: 'parse', addBos: false, addEos: false });
    return id !== undefined && more.length === 0 && tokenizer.tokenText(id) === spelling ? id : undefined;
  };
  const need = (...spellings: string[]): number => {
    for (const spelling of spellings) {
      const id = find(spelling);
      if (id !== undefined) return id;
    }
    throw new TokenizerError(
      'BAD_VOCABULARY',
      `the vocabulary has no ${spellings.join(' or ')}: it is not Whisper's`,
    );
  };
  const endOfText = need('<|endoftext|>');
  const noTimestamps = need('<|notimestamps|>');
  need('<|en|>');
  const codes = languages.map((code) => [code, find(`<|${code}|>`)] as const);
  return {
    size: tokenizer.vocabSize,
    ids: {
      endOfText,
      start: need('<|startoftranscript|>'),
      translate: need('<|translate|>'),
      transcribe: need('<|transcribe|>'),
      startOfPrevious: need('<|startofprev|>'),
      noSpeech: need('<|nospeech|>', '<|nocaptions|>'),
      noTimestamps,
      firstTimestamp: noTimestamps + 1,
      languages: new Map(codes.filter((entry): entry is readonly [string, number] => entry[1] !== undefined)),
      multilingual: endOfText !== englishEnd,
    },
    bytes: (id) => tokenizer.tokenBytes(id),
    encode: (text) => tokenizer.encode(text, { addBos: false, addEos: false }),
  };
}

/**
 * The vocabulary of a whisper.cpp file: the bytes of the text tokens. The ids of the special tokens follow from the
 * vocabulary size.
 * @param size V, rows of the token embedding
 * @throws TokenizerError BAD_VOCABULARY
 */
export function vocabularyOfBytes(tokens: readonly Uint8Array[], size: number): SpeechVocabulary {
  const endOfText = size > 51_864 ? englishEnd + 1 : englishEnd;
  const languageCount = size - endOfText - 1 - otherSpecials - timestampCount;
  if (tokens.length < endOfText || languageCount < 1 || languageCount > languages.length)
    throw new TokenizerError(
      'BAD_VOCABULARY',
      `a vocabulary of ${size} tokens, ${tokens.length} of them text, is not Whisper's: it has 51864 to 51866`,
    );
  const start = endOfText + 1;
  const afterLanguages = start + 1 + languageCount;
  return {
    size,
    ids: {
      endOfText,
      start,
      translate: afterLanguages,
      transcribe: afterLanguages + 1,
      startOfPrevious: afterLanguages + 3,
      noSpeech: afterLanguages + 4,
      noTimestamps: afterLanguages + 5,
      firstTimestamp: afterLanguages + 6,
      languages: new Map(languages.slice(0, languageCount).map((code, i) => [code, start + 1 + i])),
      multilingual: endOfText !== englishEnd,
    },
    bytes: (id) => tokens[id] ?? new Uint8Array(0),
  };
}

/** The text of tokens; special tokens have none. */
export function textOf(vocabulary: SpeechVocabulary, tokens: Iterable<number>): string {
  const parts: Uint8Array[] = [];
  for (const id of tokens) if (id < vocabulary.ids.endOfText) parts.push(vocabulary.bytes(id));
  return Buffer.concat(parts).toString('utf8');
}

const notes = '♩♪♫♬♭♮♯';
const symbols = [
  ...'"#()*+/:;<=>@[\\]^_`{|}~「」『』',
  ...'<< >> <<< >>> -- --- -( -[ (\' (" (( )) ((( ))) [[ ]] {{ }} ♪♪ ♪♪♪'.split(' '),
  ...notes,
];

/**
 * Text tokens for non-speech: brackets, music notes, speaker marks. A model trained on captions writes them during
 * silence (Radford et al. 2022, their `suppress_tokens`).
 */
export function nonSpeechTokens(vocabulary: SpeechVocabulary): number[] {
  const spelled = symbols.map((symbol) => Buffer.from(symbol));
  // most vocabularies have one token for the two bytes that all notes start with
  const begun = Buffer.from(notes).subarray(0, 2);
  const unwanted = new Set(
    [...spelled, begun].flatMap((bytes) => [bytes.toString('latin1'), ` ${bytes.toString('latin1')}`]),
  );
  for (const mark of [' -', " '"]) unwanted.add(mark);
  const found: number[] = [];
  for (let id = 0; id < vocabulary.ids.endOfText; id++)
    if (unwanted.has(Buffer.from(vocabulary.bytes(id)).toString('latin1'))) found.push(id);
  return found;
}
