import { type Backend, checkOptions, need } from '@quern/core';
import { loadWhisper, type SpeechFile, type WhisperConfig, type WhisperModel } from '@quern/models';
import type { AudioInput } from '../audio/read-samples.js';
import { badOption, modelDisposed, RuntimeError } from '../error.js';
import { locateModel, type ModelLocator } from '../model/locate-model.js';
import { openSpeechModel } from '../model/open-file.js';
import { type SignalOptions, signalSchema } from '../model/signal-options.js';
import { needNotAborted } from '../need-not-aborted.js';
import { loadTokenizerFromGguf, TokenizerError, tokenizerFromHuggingFace } from '../tokenizer/index.js';
import { whileLive } from '../while-live.js';
import { chooseSpeechBackend } from './choose-backend.js';
import { type ComputedWindow, computeWindow } from './compute-window.js';
import { type SpeechLoadOptions, speechLoadSchema } from './load-options.js';
import { resolveOptions, type TranscribeOptions } from './options.js';
import { type SpeechSource, Transcriber } from './transcriber.js';
import { Transcription } from './transcription.js';
import { nonSpeechTokens, type SpeechVocabulary, vocabularyOf, vocabularyOfBytes } from './vocabulary.js';

/** A speech recognition model. */
export class SpeechModel {
  private disposed = false;

  constructor(
    private readonly source: SpeechSource,
    private readonly ownsBackend: boolean,
    readonly path: string,
    /** Load time in milliseconds. */
    readonly loadMs: number,
  ) {}

  get config(): WhisperConfig {
    return this.source.model.config;
  }

  /** Name of the backend. */
  get backend(): string {
    return this.source.model.backend.name;
  }

  /** Codes of the model's languages. */
  get languages(): readonly string[] {
    const { ids } = this.source.vocabulary;
    return ids.multilingual ? [...ids.languages.keys()] : ['en'];
  }

  /**
   * Transcribes, or translates into English. Input: a path or file: URL, the bytes of a file, or samples, of any
   * length; processed in windows of 30 seconds. Reading rejects with AudioError, BackendError, or RuntimeError DISPOSED,
   * ABORTED or BAD_LOGITS. @throws RuntimeError BAD_OPTION
   */
  transcribe(audio: AudioInput, options: TranscribeOptions = {}): Transcription {
    const resolved = resolveOptions(options, this.source.vocabulary);
    return new Transcription(() => {
      this.needLive();
      return new Transcriber(this.source, resolved, audio, this.needLive);
    });
  }

  /**
   * The model's results for the first window of a sound and a few tokens, to compare backends. Rejects with AudioError,
   * BackendError, RuntimeError DISPOSED or ABORTED.
   */
  async compute(audio: AudioInput, options: SignalOptions = {}): Promise<ComputedWindow> {
    this.needLive();
    checkOptions('compute', options, signalSchema, badOption);
    return whileLive(this.needLive, () => computeWindow(this.source.model, audio, options.signal));
  }

  /** Frees the weights. Disposing twice is harmless. */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.source.model.dispose();
    if (this.ownsBackend) this.source.model.backend.dispose();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private readonly needLive = (): void => {
    if (this.disposed) throw modelDisposed();
  };
}

/**
 * Loads a Whisper model: a folder with config.json and safetensors, a GGUF file, or a whisper.cpp model file. A failure
 * leaves nothing allocated.
 * @throws RuntimeError MODEL_NOT_FOUND, MODEL_TOO_LARGE, NO_TOKENIZER, BACKEND_NOT_FOUND, BACKEND_FAILED, NO_BACKEND,
 * BAD_OPTION, BAD_ARGUMENT, ABORTED; ModelError, FileError, TokenizerError for faults of the files; BackendError.
 */
export async function loadSpeechModel(
  pathOrId: ModelLocator,
  options: SpeechLoadOptions = {},
): Promise<SpeechModel> {
  const start = performance.now();
  checkOptions('loadSpeechModel', options, speechLoadSchema, badOption);
  const path = await locateModel('loadSpeechModel', pathOrId, options.resolveFrom, options);
  const file = await openSpeechModel(path, options);
  const vocabulary = await vocabularyOfFile(file);
  needTokens(vocabulary, file);
  needNotAborted(options.signal, 'loading');
  options.onProgress?.({ phase: 'backend', done: 0, total: 1 });
  const { backend, owned } = await chooseSpeechBackend(file, options);
  options.onProgress?.({ phase: 'backend', done: 1, total: 1 });
  try {
    if (options.graph) need(backend, 'graph');
    const model = await loadOnto(backend, file, options);
    const graph = options.graph === false ? undefined : backend.graph;
    const source = { model, vocabulary, graph, ...tokenRules(file, vocabulary) };
    return new SpeechModel(source, owned, file.path, performance.now() - start);
  } catch (error) {
    if (owned) backend.dispose();
    throw error;
  }
}

function loadOnto(
  backend: Backend,
  file: SpeechFile,
  { signal, onNotice, onProgress, mmap }: SpeechLoadOptions,
): Promise<WhisperModel> {
  return loadWhisper(file, backend, {
    ...(signal && { signal }),
    ...(onNotice && { onNotice }),
    ...(mmap !== undefined && { mmap }),
    ...(onProgress && { onProgress }),
  });
}

/** The token embedding must have a row for every control token used. */
function needTokens({ ids }: SpeechVocabulary, { config, path }: SpeechFile): void {
  const last = Math.max(ids.firstTimestamp, ids.endOfText, ids.start, ...ids.languages.values());
  if (last < config.vocabulary) return;
  throw new TokenizerError(
    'BAD_VOCABULARY',
    `${path}: its vocabulary has a token ${last}, but the model has ${config.vocabulary}: they do not belong together`,
  );
}

async function vocabularyOfFile(file: SpeechFile): Promise<SpeechVocabulary> {
  if (file.kind === 'ggml') return vocabularyOfBytes(file.tokens, file.config.vocabulary);
  if (file.kind === 'huggingFace') return vocabularyOf(await tokenizerFromHuggingFace(file.folder));
  if (file.metadata.has('tokenizer.ggml.model'))
    return vocabularyOf(await loadTokenizerFromGguf(file.metadata));
  throw new RuntimeError('NO_TOKENIZER', `${file.path}: has no vocabulary: its tokens cannot become text`);
}

/** Token rules from the folder's generation_config.json, else from the vocabulary. */
function tokenRules(
  file: SpeechFile,
  vocabulary: SpeechVocabulary,
): Pick<SpeechSource, 'suppressed' | 'notFirst' | 'alignmentHeads'> {
  const generation = file.kind === 'huggingFace' ? file.generation : {};
  const { endOfText } = vocabulary.ids;
  const isToken = (id: unknown): id is number =>
    Number.isInteger(id) && (id as number) >= 0 && (id as number) < vocabulary.size;
  const list = (key: string): number[] | undefined => {
    const value = generation[key];
    return Array.isArray(value) ? value.filter(isToken).filter((id) => id < endOfText) : undefined;
  };
  return {
    suppressed: list('suppress_tokens') ?? nonSpeechTokens(vocabulary),
    notFirst: [...(list('begin_suppress_tokens') ?? spaces(vocabulary)), endOfText],
    alignmentHeads: alignmentHeads(generation.alignment_heads, file.config),
  };
}

function spaces(vocabulary: SpeechVocabulary): number[] {
  return Array.from({ length: vocabulary.ids.endOfText }, (_, id) => id).filter((id) => {
    const bytes = vocabulary.bytes(id);
    return bytes.length === 1 && bytes[0] === 0x20;
  });
}

function alignmentHeads(value: unknown, { decoder }: WhisperConfig): [number, number][] | undefined {
  if (!Array.isArray(value)) return undefined;
  const isPair = (pair: unknown): pair is [number, number] =>
    Array.isArray(pair) &&
    pair.length === 2 &&
    isBelow(pair[0], decoder.layers) &&
    isBelow(pair[1], decoder.heads);
  const heads = value.filter(isPair);
  return heads.length > 0 ? heads : undefined;
}

const isBelow = (value: unknown, limit: number): boolean =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) < limit;
