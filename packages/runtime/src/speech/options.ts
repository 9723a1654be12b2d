import {
  checkOptions,
  type ProgressListener,
  rules,
  type Schema,
  type WithDefaults,
  withDefaults,
} from '@quern/core';
import { badOption, RuntimeError } from '../error.js';
import type { SpeechVocabulary } from './vocabulary.js';

/** Options of a transcription. */
export interface TranscribeOptions {
  /**
   * Spoken language: code or English name ('de', 'German', …). Default 'auto': detected in the first window with sound.
   */
  readonly language?: string | undefined;
  /** 'translate': the text is English for any spoken language. Default 'transcribe'. */
  readonly task?: 'transcribe' | 'translate' | undefined;
  /** 'segment' (the default): times of segments. 'word': also times of words. */
  readonly timestamps?: 'segment' | 'word' | undefined;
  /** Beams of the beam search; 1 (the default): greedy. */
  readonly beamSize?: number | undefined;
  /** Temperatures to try in order while the text repeats itself or is unlikely; default [0, 0.2, 0.4, 0.6, 0.8, 1]. */
  readonly temperatures?: readonly number[] | undefined;
  /** Number of texts drawn at a temperature above 0; the likeliest one is taken. Default 5. */
  readonly bestOf?: number | undefined;
  /** A text with a higher compression ratio repeats itself; default 2.4. */
  readonly compressionRatioThreshold?: number | undefined;
  /** A text with a lower mean log probability per token is unlikely; default −1. */
  readonly logProbabilityThreshold?: number | undefined;
  /**
   * A window is silent where the model's no-speech probability is above this value and the text is unlikely; default
   * 0.6.
   */
  readonly noSpeechThreshold?: number | undefined;
  /** Use the text of earlier windows as context; default true. */
  readonly conditionOnPrevious?: boolean | undefined;
  /** Earlier text, or words to expect. */
  readonly prompt?: string | undefined;
  /** The same seed draws the same texts. Integer from 0 to 2^64 - 1; default 0. */
  readonly seed?: number | bigint | undefined;
  /** Most tokens of one window. Default and upper bound: half the model's context. */
  readonly maxTokens?: number | undefined;
  /** Never write the end token: every window has `maxTokens` tokens. For benchmarks. Default false. */
  readonly ignoreEnd?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  /**
   * Called with the seconds of sound: first with `done: 0`, as soon as the duration (`total`) is known; after each
   * window; and at each attempt at a window, with its temperature.
   */
  readonly onProgress?: ProgressListener<'transcribe'> | undefined;
  /** Called with each segment as soon as it is known; the iteration gives it too. */
  readonly onSegment?: ((segment: Segment) => void) | undefined;
}

/** A piece of the transcript. */
export interface Segment {
  /** Numbered from 0. */
  readonly id: number;
  /** Seconds from the start of the sound. */
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly tokens: readonly number[];
  /** Temperature of its window. */
  readonly temperature: number;
  readonly averageLogProbability: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
  /** Present with timestamps: 'word'. */
  readonly words?: readonly Word[];
}

export interface Word {
  readonly word: string;
  /** Seconds from the start of the sound. */
  readonly start: number;
  readonly end: number;
  readonly probability: number;
}

/** The whole transcript. */
export interface TranscriptionResult {
  readonly text: string;
  readonly segments: readonly Segment[];
  /** Given or detected; '' for a recording without speech. */
  readonly language: string;
  /** Seconds of sound. */
  readonly duration: number;
  readonly stages: TranscriptionStages;
  /** Tokens at the beginning of `prompt` that the model did not read: its prompts have half the context, less 5 tokens. */
  readonly cutPromptTokens: number;
}

/** Time per stage, in milliseconds. */
export interface TranscriptionStages {
  readonly audioMs: number;
  readonly melMs: number;
  readonly encodeMs: number;
  readonly decodeMs: number;
  readonly alignMs: number;
  /** Encoded windows; `tokens`: chosen tokens. */
  readonly windows: number;
  readonly tokens: number;
}

const mostBeams = 16;
const texts = rules.whole(1, mostBeams);

/** What each option must be, and its default. */
export const transcribeSchema = {
  language: {
    ...rules.text,
    about: "spoken language: code or English name; 'auto': detected in the first window with sound",
    byDefault: 'auto',
  },
  task: {
    ...rules.oneOf(['transcribe', 'translate']),
    about: "'translate': the text is English for any spoken language",
    byDefault: 'transcribe',
  },
  timestamps: {
    ...rules.oneOf(['segment', 'word']),
    about: "'segment': times of segments; 'word': also times of words",
    byDefault: 'segment',
  },
  beamSize: { ...texts, about: 'beams of the beam search; 1: greedy', byDefault: 1 },
  temperatures: {
    ...rules.listOf('numbers, finite and at least 0', rules.notNegative, 1),
    about: 'temperatures to try in order while the text repeats itself or is unlikely',
    byDefault: [0, 0.2, 0.4, 0.6, 0.8, 1],
  },
  bestOf: {
    ...texts,
    about: 'number of texts drawn at a temperature above 0; the likeliest one is taken',
    byDefault: 5,
  },
  compressionRatioThreshold: {
    ...rules.finite,
    about: 'a text with a higher compression ratio repeats itself',
    byDefault: 2.4,
  },
  logProbabilityThreshold: {
    ...rules.finite,
    about: 'a text with a lower mean log probability per token is unlikely',
    byDefault: -1,
  },
  noSpeechThreshold: {
    ...rules.finite,
    about:
      "a window is silent where the model's no-speech probability is above this value and the text is unlikely",
    byDefault: 0.6,
  },
  conditionOnPrevious: {
    ...rules.flag,
    about: 'use the text of earlier windows as context',
    byDefault: true,
  },
  prompt: {
    ...rules.text,
    about: "earlier text, or words to expect; of a longer one the end, at most half the model's context",
    absent: 'none',
  },
  seed: { ...rules.seed, about: 'the same seed draws the same texts', byDefault: 0 },
  maxTokens: {
    ...rules.whole(1),
    about: "most tokens of one window; at most half the model's context",
    absent: "half the model's context",
  },
  ignoreEnd: { ...rules.flag, about: 'never write the end token: for benchmarks', byDefault: false },
  signal: { ...rules.signal, about: 'ends the transcription; it rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about:
      "called with { phase: 'transcribe', done, total } in seconds of sound: when the duration is known, after each window, and with `temperature` at each attempt at a window",
    absent: 'none',
  },
  onSegment: { ...rules.callback, about: 'called with each segment as soon as it is known', absent: 'none' },
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

/** The code of a language from its code or English name, in any case; anything else is returned unchanged. */
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
