import { checkOptions, rules, type Schema, type WithDefaults, withDefaults } from '@quern/core';
import { badOption, RuntimeError } from '../error.js';
import type { SpeechVocabulary } from './vocabulary.js';

/** How a transcription is made. */
export interface TranscribeOptions {
  /** Code or English name of what is spoken ('de', 'German', …). Default 'auto': the first window with sound tells. */
  readonly language?: string | undefined;
  /** 'translate' writes English whatever is spoken. Default 'transcribe'. */
  readonly task?: 'transcribe' | 'translate' | undefined;
  /** Times of segments (the default), or of every word as well. */
  readonly timestamps?: 'segment' | 'word' | undefined;
  /** Texts that are followed side by side; 1 (the default) takes the likeliest token each time. */
  readonly beamSize?: number | undefined;
  /** Tried one after the other while the text repeats itself or is unlikely; default [0, 0.2, 0.4, 0.6, 0.8, 1]. */
  readonly temperatures?: readonly number[] | undefined;
  /** Texts drawn at a temperature above 0, of which the likeliest is taken; default 5. */
  readonly bestOf?: number | undefined;
  /** A text that is compressed by more repeats itself; default 2.4. */
  readonly compressionRatioThreshold?: number | undefined;
  /** A text is unlikely below this mean of the logarithms of its tokens' probabilities; default −1. */
  readonly logProbabilityThreshold?: number | undefined;
  /** A window is silent where the model says so with this probability and the text is unlikely; default 0.6. */
  readonly noSpeechThreshold?: number | undefined;
  /** The text before goes on into the next window; default true. */
  readonly conditionOnPrevious?: boolean | undefined;
  /** What was said before, or words to expect. */
  readonly prompt?: string | undefined;
  /** The same seed draws the same texts: an integer from 0 to 2^64 - 1; default 0. */
  readonly seed?: number | bigint | undefined;
  /** Most tokens of one window; at most, and by default, half the model's context. */
  readonly maxTokens?: number | undefined;
  /** The end of the text is never written, so that every window gets `maxTokens`: for measuring. Default false. */
  readonly ignoreEnd?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called with each segment as it is known, besides the iteration. */
  readonly onSegment?: ((segment: Segment) => void) | undefined;
}

/** A piece of the transcript. */
export interface Segment {
  /** Counts from 0. */
  readonly id: number;
  /** Seconds from the beginning of the sound. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly tokens: readonly number[];
  /** Of the window it is from. */
  readonly temperature: number;
  readonly averageLogProbability: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
  /** Where timestamps: 'word' was asked for. */
  readonly words?: readonly Word[];
}

export interface Word {
  readonly word: string;
  /** Seconds from the beginning of the sound. */
  readonly start: number;
  readonly end: number;
  readonly probability: number;
}

/** The whole transcript. */
export interface TranscriptionResult {
  readonly text: string;
  readonly segments: readonly Segment[];
  /** Given, or detected; '' where nobody spoke. */
  readonly language: string;
  /** Seconds of sound. */
  readonly duration: number;
  readonly stages: TranscriptionStages;
}

/** Where the time went, in milliseconds. */
export interface TranscriptionStages {
  readonly audioMs: number;
  readonly melMs: number;
  readonly encodeMs: number;
  readonly decodeMs: number;
  readonly alignMs: number;
  /** Windows that were encoded, and tokens that were chosen. */
  readonly windows: number;
  readonly tokens: number;
}

const mostBeams = 16;
const texts = rules.whole(1, mostBeams);

/** Of each option: what it must be, and its default. */
export const transcribeSchema = {
  language: {
    ...rules.text,
    about: "code or English name of what is spoken; 'auto': the first window with sound tells",
    byDefault: 'auto',
  },
  task: {
    ...rules.oneOf(['transcribe', 'translate']),
    about: "'translate' writes English whatever is spoken",
    byDefault: 'transcribe',
  },
  timestamps: {
    ...rules.oneOf(['segment', 'word']),
    about: 'times of segments, or of every word as well',
    byDefault: 'segment',
  },
  beamSize: { ...texts, about: 'texts that are followed side by side', byDefault: 1 },
  temperatures: {
    ...rules.listOf('numbers, finite and at least 0', rules.notNegative, 1),
    about: 'tried one after the other while the text repeats itself or is unlikely',
    byDefault: [0, 0.2, 0.4, 0.6, 0.8, 1],
  },
  bestOf: {
    ...texts,
    about: 'texts drawn at a temperature above 0, of which the likeliest is taken',
    byDefault: 5,
  },
  compressionRatioThreshold: {
    ...rules.finite,
    about: 'a text that is compressed by more repeats itself',
    byDefault: 2.4,
  },
  logProbabilityThreshold: {
    ...rules.finite,
    about: "a text is unlikely below this mean of the logarithms of its tokens' probabilities",
    byDefault: -1,
  },
  noSpeechThreshold: {
    ...rules.finite,
    about: 'a window is silent where the model says so with this probability and the text is unlikely',
    byDefault: 0.6,
  },
  conditionOnPrevious: {
    ...rules.flag,
    about: 'the text before goes on into the next window',
    byDefault: true,
  },
  prompt: { ...rules.text, about: 'what was said before, or words to expect', absent: 'none' },
  seed: { ...rules.seed, about: 'the same seed draws the same texts', byDefault: 0 },
  maxTokens: {
    ...rules.whole(1),
    about: "most tokens of one window; at most half the model's context",
    absent: "half the model's context",
  },
  ignoreEnd: { ...rules.flag, about: 'never write the end of the text: for measuring', byDefault: false },
  signal: { ...rules.signal, about: 'ends the transcription, which rejects with ABORTED', absent: 'none' },
  onSegment: { ...rules.callback, about: 'called with each segment as it is known', absent: 'none' },
} as const satisfies Schema<TranscribeOptions>;

export type ResolvedOptions = WithDefaults<TranscribeOptions, typeof transcribeSchema>;

/** @throws RuntimeError BAD_OPTION */
export function resolveOptions(options: TranscribeOptions, vocabulary: SpeechVocabulary): ResolvedOptions {
  checkOptions('transcribe', options, transcribeSchema, badOption);
  const given = withDefaults(options, transcribeSchema);
  const resolved = { ...given, language: codeOf(given.language, vocabulary) };
  needLanguage(resolved, vocabulary);
  if (options.prompt !== undefined && !vocabulary.encode)
    throw badValue(
      'prompt',
      options.prompt,
      'this model file cannot encode text: use the Hugging Face folder',
    );
  return resolved;
}

const badValue = (name: string, value: unknown, why: string) =>
  new RuntimeError('BAD_OPTION', `${name} is ${JSON.stringify(value)}; ${why}`);

/** The code of a language given by its code or its English name, in any case; what is neither stays as it is. */
function codeOf(language: string, { ids }: SpeechVocabulary): string {
  const wanted = language.toLowerCase();
  const codes = ids.multilingual ? [...ids.languages.keys()] : ['en'];
  const english = new Intl.DisplayNames(['en'], { type: 'language' });
  return codes.find((code) => code === wanted || english.of(code)?.toLowerCase() === wanted) ?? wanted;
}

function needLanguage({ language, task }: ResolvedOptions, { ids }: SpeechVocabulary): void {
  if (!ids.multilingual) {
    if (language !== 'auto' && language !== 'en')
      throw badValue('language', language, 'this model knows English alone');
    if (task === 'translate') throw badValue('task', task, 'a model of English alone cannot translate');
    return;
  }
  if (language !== 'auto' && !ids.languages.has(language))
    throw badValue(
      'language',
      language,
      `it must be auto, or the code or English name of one of ${[...ids.languages.keys()].join(', ')}`,
    );
}
