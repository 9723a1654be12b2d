import { needWhole, RuntimeError } from '../error.js';
import type { SpeechVocabulary } from './vocabulary.js';

/** How a transcription is made. */
export interface TranscribeOptions {
  /** Code or English name of what is spoken ('de', 'German', …). Default 'auto': the first window with sound tells. */
  readonly language?: string;
  /** 'translate' writes English whatever is spoken. Default 'transcribe'. */
  readonly task?: 'transcribe' | 'translate';
  /** Times of segments (the default), or of every word as well. */
  readonly timestamps?: 'segment' | 'word';
  /** Texts that are followed side by side; 1 (the default) takes the likeliest token each time. */
  readonly beamSize?: number;
  /** Tried one after the other while the text repeats itself or is unlikely; default [0, 0.2, 0.4, 0.6, 0.8, 1]. */
  readonly temperatures?: readonly number[];
  /** Texts drawn at a temperature above 0, of which the likeliest is taken; default 5. */
  readonly bestOf?: number;
  /** A text that is compressed by more repeats itself; default 2.4. */
  readonly compressionRatioThreshold?: number;
  /** A text is unlikely below this mean of the logarithms of its tokens' probabilities; default −1. */
  readonly logProbabilityThreshold?: number;
  /** A window is silent where the model says so with this probability and the text is unlikely; default 0.6. */
  readonly noSpeechThreshold?: number;
  /** The text before goes on into the next window; default true. */
  readonly conditionOnPrevious?: boolean;
  /** What was said before, or words to expect. */
  readonly prompt?: string;
  /** The same seed draws the same texts; default 0. */
  readonly seed?: number;
  /** Most tokens of one window; at most, and by default, half the model's context. */
  readonly maxTokens?: number;
  /** The end of the text is never written, so that every window gets `maxTokens`: for measuring. Default false. */
  readonly ignoreEnd?: boolean;
  readonly signal?: AbortSignal;
  /** Called with each segment as it is known, besides the iteration. */
  readonly onSegment?: (segment: Segment) => void;
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

export type ResolvedOptions = Required<
  Omit<TranscribeOptions, 'signal' | 'onSegment' | 'prompt' | 'maxTokens'>
> &
  Pick<TranscribeOptions, 'signal' | 'onSegment' | 'prompt' | 'maxTokens'>;

const mostBeams = 16;

/** @throws RuntimeError BAD_OPTION */
export function resolveOptions(options: TranscribeOptions, vocabulary: SpeechVocabulary): ResolvedOptions {
  const resolved: ResolvedOptions = {
    ...options,
    language: codeOf(options.language ?? 'auto', vocabulary),
    task: options.task ?? 'transcribe',
    timestamps: options.timestamps ?? 'segment',
    beamSize: options.beamSize ?? 1,
    temperatures: options.temperatures ?? [0, 0.2, 0.4, 0.6, 0.8, 1],
    bestOf: options.bestOf ?? 5,
    compressionRatioThreshold: options.compressionRatioThreshold ?? 2.4,
    logProbabilityThreshold: options.logProbabilityThreshold ?? -1,
    noSpeechThreshold: options.noSpeechThreshold ?? 0.6,
    conditionOnPrevious: options.conditionOnPrevious ?? true,
    seed: options.seed ?? 0,
    ignoreEnd: options.ignoreEnd ?? false,
  };
  needOneOf('task', resolved.task, ['transcribe', 'translate']);
  needOneOf('timestamps', resolved.timestamps, ['segment', 'word']);
  needWhole('beamSize', resolved.beamSize, 1, mostBeams);
  needWhole('bestOf', resolved.bestOf, 1, mostBeams);
  needWhole('seed', resolved.seed, 0);
  if (options.maxTokens !== undefined) needWhole('maxTokens', options.maxTokens, 1);
  needTemperatures(resolved.temperatures);
  needLanguage(resolved, vocabulary);
  if (options.prompt !== undefined && !vocabulary.encode)
    throw badOption(
      'prompt',
      options.prompt,
      'this model file cannot encode text: use the Hugging Face folder',
    );
  return resolved;
}

const badOption = (name: string, value: unknown, why: string) =>
  new RuntimeError('BAD_OPTION', `${name} is ${JSON.stringify(value)}; ${why}`);

function needOneOf(name: string, value: string, choices: readonly string[]): void {
  if (!choices.includes(value)) throw badOption(name, value, `it must be ${choices.join(' or ')}`);
}

function needTemperatures(values: readonly number[]): void {
  if (values.length > 0 && values.every((value) => Number.isFinite(value) && value >= 0)) return;
  throw badOption('temperatures', values, 'it must be a list of numbers of 0 or more, with one at least');
}

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
      throw badOption('language', language, 'this model knows English alone');
    if (task === 'translate') throw badOption('task', task, 'a model of English alone cannot translate');
    return;
  }
  if (language !== 'auto' && !ids.languages.has(language))
    throw badOption(
      'language',
      language,
      `it must be auto, or the code or English name of one of ${[...ids.languages.keys()].join(', ')}`,
    );
}
