import { deflateSync } from 'node:zlib';
import { Random } from '../engine/sampling/random.js';
import { searchBeams } from './beam-search.js';
import type { ResolvedOptions } from './options.js';
import type { SpeechSession } from './session.js';
import type { RuleOptions } from './token-rules.js';
import { type SpeechVocabulary, textOf } from './vocabulary.js';
import { drawTexts, type WritingOptions, type WrittenText } from './written-text.js';

/** The text of one window, with its scores. */
export interface WindowText {
  readonly tokens: readonly number[];
  readonly temperature: number;
  readonly averageLogProbability: number;
  readonly compressionRatio: number;
  readonly noSpeechProbability: number;
}

export interface WindowRequest {
  readonly session: SpeechSession;
  readonly vocabulary: SpeechVocabulary;
  readonly rules: RuleOptions;
  readonly options: ResolvedOptions;
  /** The previous text (if used as context), then `wanted`. */
  readonly prompt: readonly number[];
  /** The tokens for start, language and task. */
  readonly wanted: readonly number[];
  /** Called before each attempt. */
  onAttempt(temperature: number): void;
}

/**
 * Decodes the session's window at the first temperature; at each next temperature while the text repeats itself or is
 * unlikely. A silent window needs no further attempt.
 */
export async function decodeWindow(request: WindowRequest): Promise<WindowText> {
  const { session, options, prompt, wanted, rules } = request;
  const random = new Random(BigInt(options.seed));
  const root = session.sequence();
  try {
    const rows = [prompt.length - wanted.length, prompt.length - 1];
    const V = session.model.config.vocabulary;
    const following = await session.begin({ sequence: root, tokens: prompt }, rows, options.signal);
    const noSpeechProbability = following[rules.ids.noSpeech]!;
    const half = Math.floor(session.model.config.decoder.context / 2);
    const writing: WritingOptions = {
      session,
      root,
      first: following.subarray(V),
      rules,
      maxTokens: Math.min(options.maxTokens ?? half, half),
      signal: options.signal,
    };
    for (let attempt = 0; ; attempt++) {
      const temperature = options.temperatures[attempt]!;
      request.onAttempt(temperature);
      const written = await write(writing, temperature, options, random);
      const text = scored(written, temperature, noSpeechProbability, request.vocabulary);
      const isLast = attempt + 1 === options.temperatures.length;
      if (isLast || !needsAnother(text, options)) return text;
    }
  } finally {
    root.release();
  }
}

async function write(
  writing: WritingOptions,
  temperature: number,
  { beamSize, bestOf }: ResolvedOptions,
  random: Random,
): Promise<WrittenText> {
  if (temperature === 0 && beamSize > 1) return searchBeams(writing, beamSize);
  const texts = await drawTexts(writing, temperature === 0 ? 1 : bestOf, temperature, random);
  return texts.reduce((best, text) => (averageOf(text) > averageOf(best) ? text : best));
}

/** Mean log probability per token, the end token included. */
const averageOf = ({ tokens, logProbability }: WrittenText) => logProbability / (tokens.length + 1);

function scored(
  written: WrittenText,
  temperature: number,
  noSpeechProbability: number,
  vocabulary: SpeechVocabulary,
): WindowText {
  return {
    tokens: written.tokens,
    temperature,
    averageLogProbability: averageOf(written),
    compressionRatio: compressionRatio(textOf(vocabulary, written.tokens)),
    noSpeechProbability,
  };
}

/** Length of the text / length of the compressed text. A high value shows repetition. */
export function compressionRatio(text: string): number {
  const bytes = Buffer.from(text.trim());
  return bytes.length === 0 ? 0 : bytes.length / deflateSync(bytes).length;
}

export function isSilent(text: WindowText, options: ResolvedOptions): boolean {
  return (
    text.noSpeechProbability > options.noSpeechThreshold &&
    text.averageLogProbability < options.logProbabilityThreshold
  );
}

function needsAnother(text: WindowText, options: ResolvedOptions): boolean {
  if (text.compressionRatio > options.compressionRatioThreshold) return true;
  return text.averageLogProbability < options.logProbabilityThreshold && !isSilent(text, options);
}
