import { BackendError, type Graph } from '@quern/core';
import { hop, sampleRate, type WhisperModel } from '@quern/models';
import { type AudioInput, readSamples } from '../audio/read-samples.js';
import { RuntimeError } from '../error.js';
import type { Production } from '../read-once.js';
import { whileLive } from '../while-live.js';
import { type Alignment, alignWords } from './align-words.js';
import { cutSegments, secondsPerTimestamp } from './cut-segments.js';
import { decodeWindow, isSilent, type WindowText } from './decode-window.js';
import { MelFrames } from './mel-frames.js';
import type { ResolvedOptions, Segment, TranscriptionResult, TranscriptionStages } from './options.js';
import { SpeechSession } from './session.js';
import { likeliestOf, type RuleOptions } from './token-rules.js';
import { type SpeechVocabulary, textOf } from './vocabulary.js';

const framesPerSecond = sampleRate / hop;
/** The first segment starts within one second. */
const latestFirst = 1 / secondsPerTimestamp;
/** A text drawn at a higher temperature is no context for the next window. */
const contextTemperature = 0.5;

/** The parts of a model for a transcription. */
export interface SpeechSource {
  readonly model: WhisperModel;
  readonly vocabulary: SpeechVocabulary;
  /** Captures decoder steps; absent: every step is recorded. */
  readonly graph: Graph | undefined;
  /** Tokens that are never written; `notFirst`: tokens that are not written first. */
  readonly suppressed: readonly number[];
  readonly notFirst: readonly number[];
  /** [layer, head] of the decoder whose cross attention follows the sound; used for word times. */
  readonly alignmentHeads: readonly (readonly [layer: number, head: number])[] | undefined;
}

type MutableStages = { -readonly [Name in keyof TranscriptionStages]: number };

/** The transcription of one recording, window after window. */
export class Transcriber implements Production<Segment, TranscriptionResult> {
  private readonly session: SpeechSession;
  private readonly stages: MutableStages = {
    audioMs: 0,
    melMs: 0,
    encodeMs: 0,
    decodeMs: 0,
    alignMs: 0,
    windows: 0,
    tokens: 0,
  };
  private readonly segments: Segment[] = [];
  /** Tokens of earlier windows, since the last reset. */
  private previous: number[];
  private language: string;
  private duration = 0;
  /** First frame of the encoded window. */
  private heardFrom: number | undefined;
  private encoded: Float32Array | undefined;
  private readonly cutPromptTokens: number;
  private readonly coming: AsyncGenerator<Segment, void, void>;
  private readonly left = new AbortController();
  private readonly options: ResolvedOptions;

  constructor(
    private readonly source: SpeechSource,
    options: ResolvedOptions,
    input: AudioInput,
    private readonly needLive: () => void,
  ) {
    const signals = [this.left.signal, ...(options.signal ? [options.signal] : [])];
    this.options = { ...options, signal: AbortSignal.any(signals) };
    const { vocabulary, model } = source;
    const texts = Math.max(options.beamSize, options.temperatures.some((t) => t > 0) ? options.bestOf : 1);
    this.language = vocabulary.ids.multilingual ? options.language : 'en';
    this.previous = options.prompt ? vocabulary.encode!(` ${options.prompt.trim()}`) : [];
    this.cutPromptTokens = Math.max(0, this.previous.length - this.roomForText());
    this.session = SpeechSession.open(model, texts, source.graph);
    this.coming = this.run(input);
  }

  /** The next segment. Rejects with AudioError, BackendError, RuntimeError ABORTED. */
  async next(): Promise<Segment | undefined> {
    try {
      const { value } = await whileLive(this.needLive, () => this.coming.next());
      return value ?? undefined;
    } catch (error) {
      if (this.left.signal.aborted) return undefined;
      throw error;
    }
  }

  /** Ends a pending `next` within a step: nobody reads its segment. */
  cancel(): void {
    this.left.abort();
  }

  /** Frees the session. Closing twice is harmless. */
  async close(): Promise<void> {
    await this.coming.return();
    this.session.dispose();
  }

  private async *run(input: AudioInput): AsyncGenerator<Segment, void, void> {
    try {
      const samples = await this.timed('audioMs', () => readSamples(input, this.options.signal));
      this.duration = samples.length / sampleRate;
      this.report(0);
      const { model } = this.source;
      const mel = await this.timed('melMs', () => MelFrames.of(samples, model, this.options.signal));
      for (let frame = 0; frame < mel.count; ) {
        this.options.signal?.throwIfAborted();
        const { segments, advance } = await this.window(mel, frame);
        for (const segment of segments) {
          this.options.signal?.throwIfAborted();
          this.segments.push(segment);
          this.options.onSegment?.(segment);
          yield segment;
        }
        frame += advance;
        this.report(frame);
      }
    } catch (error) {
      if (this.options.signal?.aborted || (error instanceof BackendError && error.code === 'ABORTED'))
        throw new RuntimeError('ABORTED', 'the transcription was aborted', { cause: error });
      throw error;
    }
  }

  /** @param frame first frame that is not transcribed */
  private report(frame: number, attempt?: { readonly temperature: number }): void {
    const done = Math.min(this.duration, frame / framesPerSecond);
    this.options.onProgress?.({ phase: 'transcribe', done, total: this.duration, ...attempt });
  }

  result(): TranscriptionResult {
    return {
      text: this.segments
        .map(({ text }) => text)
        .join('')
        .trim(),
      segments: this.segments,
      language: this.language === 'auto' ? '' : this.language,
      duration: this.duration,
      stages: { ...this.stages },
      cutPromptTokens: this.cutPromptTokens,
    };
  }

  private get windowFrames(): number {
    return 2 * this.source.model.config.encoder.context;
  }

  private async timed<T>(stage: keyof TranscriptionStages, work: () => Promise<T>): Promise<T> {
    const start = performance.now();
    try {
      return await work();
    } finally {
      this.stages[stage] += performance.now() - start;
    }
  }

  private async hear(mel: MelFrames, frame: number): Promise<void> {
    if (this.heardFrom === frame) return;
    const keep = this.options.timestamps === 'word';
    const window = mel.window(frame, this.windowFrames);
    this.encoded = await this.timed('encodeMs', () => this.session.hear(window, keep, this.options.signal));
    this.heardFrom = frame;
    this.stages.windows++;
  }

  /** Detects the language of the encoded window, for the whole recording. */
  private async detectLanguage(): Promise<void> {
    const { ids } = this.source.vocabulary;
    const sequence = this.session.sequence();
    try {
      const { signal } = this.options;
      const probabilities = await this.session.begin({ sequence, tokens: [ids.start] }, [0], signal);
      const likeliest = likeliestOf(probabilities, [...ids.languages.values()]);
      this.language = [...ids.languages].find(([, token]) => token === likeliest)![0];
    } finally {
      sequence.release();
    }
  }

  /** Decodes the window at a frame; `advance` is in frames. */
  private async window(mel: MelFrames, frame: number): Promise<{ segments: Segment[]; advance: number }> {
    const length = Math.min(this.windowFrames, mel.count - frame);
    if (mel.isSilent(frame, length)) return { segments: [], advance: length };
    await this.hear(mel, frame);
    if (this.language === 'auto') await this.detectLanguage();
    const text = await this.timed('decodeMs', () => this.decode(frame, length));
    this.stages.tokens += text.tokens.length;
    if (isSilent(text, this.options)) return { segments: [], advance: length };

    const { ids } = this.source.vocabulary;
    const { segments, advance } = cutSegments(text.tokens, ids.firstTimestamp, length / framesPerSecond);
    const spoken = segments.filter(
      (cut) => cut.end > cut.start && textOf(this.source.vocabulary, cut.tokens).trim(),
    );
    const words =
      this.options.timestamps === 'word' && spoken.length > 0
        ? await this.timed('alignMs', () => alignWords(this.alignment(frame, length), spoken))
        : undefined;
    this.remember(
      text,
      segments.flatMap((cut) => [...cut.tokens]),
    );
    const offset = frame / framesPerSecond;
    return {
      advance: Math.max(1, Math.round(advance * framesPerSecond)),
      segments: spoken.map((cut, i) => ({
        id: this.segments.length + i,
        start: offset + cut.start,
        end: Math.min(offset + cut.end, Math.max(this.duration, offset + cut.start)),
        text: textOf(this.source.vocabulary, cut.tokens),
        tokens: cut.tokens,
        temperature: text.temperature,
        averageLogProbability: text.averageLogProbability,
        compressionRatio: text.compressionRatio,
        noSpeechProbability: text.noSpeechProbability,
        ...(words && { words: words[i]! }),
      })),
    };
  }

  private decode(frame: number, length: number): Promise<WindowText> {
    const { vocabulary } = this.source;
    const wanted = this.wanted();
    return decodeWindow({
      session: this.session,
      vocabulary,
      rules: this.rules(length),
      options: this.options,
      prompt: [...this.previousText(), ...wanted],
      wanted,
      onAttempt: (temperature) => this.report(frame, { temperature }),
    });
  }

  /** The tokens for start, language and task. */
  private wanted(): number[] {
    const { ids } = this.source.vocabulary;
    if (!ids.multilingual) return [ids.start];
    const task = this.options.task === 'translate' ? ids.translate : ids.transcribe;
    return [ids.start, ids.languages.get(this.language)!, task];
  }

  /** The last tokens of the earlier text: at most half of the context. */
  private previousText(): number[] {
    const room = this.roomForText();
    if (this.previous.length === 0 || room < 1) return [];
    return [this.source.vocabulary.ids.startOfPrevious, ...this.previous.slice(-room)];
  }

  /** Most tokens of earlier text, beside its mark, and the tokens for start, language and task. */
  private roomForText(): number {
    const { model, vocabulary } = this.source;
    const wanted = vocabulary.ids.multilingual ? 3 : 1;
    return Math.floor(model.config.decoder.context / 2) - 1 - wanted;
  }

  private remember({ temperature }: WindowText, tokens: readonly number[]): void {
    const isContext = this.options.conditionOnPrevious && temperature <= contextTemperature;
    const { context } = this.source.model.config.decoder;
    this.previous = isContext ? [...this.previous, ...tokens].slice(-context) : [];
  }

  /** The token rules of a window with `length` frames of sound. */
  private rules(length: number): RuleOptions {
    const { vocabulary, suppressed, notFirst } = this.source;
    const { ids } = vocabulary;
    const never = this.options.ignoreEnd ? [...suppressed, ids.endOfText] : suppressed;
    return { ids, suppressed: never, notFirst, latestFirst, latest: Math.ceil(length / 2) };
  }

  private alignment(frame: number, length: number): Alignment {
    return {
      session: this.session,
      vocabulary: this.source.vocabulary,
      heads: this.source.alignmentHeads,
      encoded: this.encoded!,
      frames: Math.ceil(length / 2),
      wanted: this.wanted(),
      offset: frame / framesPerSecond,
      language: this.language,
      signal: this.options.signal,
    };
  }
}
