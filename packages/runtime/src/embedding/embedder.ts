import {
  checkArgument,
  checkOptions,
  type DeviceProfile,
  type ProgressListener,
  rules,
  type Schema,
} from '@quern/core';
import type { EmbedBackend, EncoderConfig } from '@quern/models';
import { badArgument, badOption, needWhole, RuntimeError } from '../error.js';
import type { LoadedFile } from '../model/loaded-file.js';
import type { DecodeOptions, EncodeOptions, Tokenizer } from '../tokenizer/index.js';
import { whileLive } from '../while-live.js';
import {
  type ComputedText,
  computeInSteps,
  computeTexts,
  type EmbedInput,
  type TextCounts,
  type TextsJob,
} from './compute-texts.js';
import { Embeddings } from './embeddings.js';
import { pairedTexts, promptedTexts, singleTexts, type TextEncoder, type TextLimit } from './encode-texts.js';
import { firstNumbers } from './first-numbers.js';

export interface TextsOptions<P extends 'embed' | 'rerank' = 'rerank'> {
  readonly signal?: AbortSignal | undefined;
  /** Called after each step: finished texts, all texts, and the tokens of the finished ones. */
  readonly onProgress?: ProgressListener<P> | undefined;
  /** Most tokens of a text; default and upper bound: the model's limit. */
  readonly maxTokens?: number | undefined;
  /**
   * Cut texts off at the end that are longer than `maxTokens`, and count them in `truncated`. Otherwise such a text
   * rejects with TextTooLongError (PROMPT_TOO_LONG). Default: true with `maxTokens`, otherwise false.
   */
  readonly truncate?: boolean | undefined;
}

export interface EmbedOptions extends TextsOptions<'embed'> {
  /** Name of one of the model's `prompts`, written before every text. */
  readonly prompt?: string | undefined;
  /**
   * Numbers per embedding: its first ones, scaled to length 1 again (unless the model does not normalise). For models trained
   * so (Kusupati et al. 2022, Matryoshka); at most `model.dimensions`, the default.
   */
  readonly dimensions?: number | undefined;
  /** Written before every text. For models whose files name no prompts: E5 requires 'query: ' or 'passage: '. */
  readonly prefix?: string | undefined;
}

/** What each option must be, and its default. */
export const textsSchema = {
  signal: { ...rules.signal, about: 'ends the call; the call rejects with ABORTED', absent: 'none' },
  onProgress: {
    ...rules.callback,
    about:
      'called with { phase, done, total, tokens } after each step: finished texts, all texts, tokens of the finished ones',
    absent: 'none',
  },
  maxTokens: {
    ...rules.whole(3),
    about: 'most tokens of a text',
    absent: "the model's limit, which is also the upper bound",
  },
  truncate: {
    ...rules.flag,
    about: 'cut longer texts off at the end, and count them; false: they reject with PROMPT_TOO_LONG',
    absent: 'true with maxTokens, otherwise false',
  },
} as const satisfies Schema<TextsOptions>;

export const embedSchema = {
  ...textsSchema,
  prompt: {
    ...rules.text,
    about: "name of one of the model's prompts, written before every text",
    absent: 'none',
  },
  prefix: { ...rules.text, about: 'written before every text', byDefault: '' },
  dimensions: {
    ...rules.whole(1),
    about: 'numbers per embedding: its first ones, scaled to length 1 again',
    absent: "the model's, which are also the upper bound",
  },
} as const satisfies Schema<EmbedOptions>;

/** The embedding of one text. `values`: [dimensions]. */
export type EmbeddedText = ComputedText;

/** A cross-encoder's result for one text. */
export interface RankedText {
  /** Index of the text. */
  readonly index: number;
  /** 1 / (1 + e^−logit), in [0, 1]: a decoder's probability of yes, against no. */
  readonly score: number;
  readonly logit: number;
}

export interface Ranking {
  /** Best first; of equal scores, the earlier text first. */
  readonly ranked: readonly RankedText[];
  readonly tokens: number;
  readonly truncated: number;
}

/** Parts of an Embedder, which owns all of them. */
export interface EmbedderParts {
  readonly path: string;
  readonly file: LoadedFile;
  readonly architecture: string;
  readonly config: EncoderConfig;
  readonly prompts: Readonly<Record<string, string>>;
  /** The prompt of a decoder that ranks, with {query} and {document}. */
  readonly template?: string | undefined;
  /** Said at the first embedding. */
  readonly notice?: (() => void) | undefined;
  readonly tokenizer: Tokenizer;
  readonly encoder: EmbedBackend;
  readonly backend: { readonly name: string; readonly profile: DeviceProfile };
  readonly loadMs: number;
  /** Disposes the backend if it was loaded for this model. */
  readonly release: () => void;
}

const kinds = {
  embedBatch: { code: 'BAD_EMBEDDING', name: 'a number of the embedding' },
  classifyBatch: { code: 'BAD_LOGITS', name: 'the logit' },
} as const;

const inputs = rules.listOf<EmbedInput>('strings or lists of token ids', {
  must: 'a string or token ids',
  holds: (value): value is EmbedInput => typeof value === 'string' || Array.isArray(value),
});

const listenersOf = ({ signal, onProgress }: EmbedOptions) => ({
  signal,
  ...(onProgress && { onProgress: (counts: TextCounts) => onProgress({ phase: 'embed', ...counts }) }),
});

/** @throws RuntimeError BAD_OPTION for words before token ids */
function needTexts(texts: readonly EmbedInput[], { prompt, prefix = '' }: EmbedOptions): void {
  if ((prompt !== undefined || prefix !== '') && texts.some((text) => typeof text !== 'string'))
    throw badOption('prompt and prefix are written before texts, not before token ids', 'prompt');
}

/** An encoder, ready to embed and rank texts. Calls may overlap. */
export class Embedder {
  /** The file or folder of the model. */
  readonly path: string;
  /** What the file holds. */
  readonly file: LoadedFile;
  readonly architecture: string;
  readonly config: EncoderConfig;
  /** Text written before a text, by kind ('query', 'document', …), from the model's files. */
  readonly prompts: Readonly<Record<string, string>>;
  /** The prompt of a decoder that ranks, with {query} and {document}; undefined: the model takes pairs, or ranks no texts. */
  readonly template: string | undefined;
  readonly tokenizer: Tokenizer;
  /** Name of the backend. */
  readonly backend: string;
  /** The backend's measurements of its device. */
  readonly profile: DeviceProfile;
  /** Load time in milliseconds. */
  readonly loadMs: number;
  /** Numbers per embedding. */
  readonly dimensions: number;
  /** Most tokens of a text. */
  readonly maxTokens: number;
  private disposed = false;
  private said = false;

  constructor(private readonly parts: EmbedderParts) {
    this.path = parts.path;
    this.file = parts.file;
    this.architecture = parts.architecture;
    this.config = parts.config;
    this.prompts = parts.prompts;
    this.template = parts.template;
    this.tokenizer = parts.tokenizer;
    this.backend = parts.backend.name;
    this.profile = parts.backend.profile;
    this.loadMs = parts.loadMs;
    this.dimensions = parts.encoder.dimensions;
    this.maxTokens = parts.encoder.maxTokens;
  }

  /** Whether the model can rank: it has a classifier with one output. */
  get ranks(): boolean {
    return this.config.labels === 1;
  }

  /**
   * Embeds any number of texts. Token ids are embedded as they are: with the start and end tokens that the caller wrote.
   * Memory is bounded, except for the result. Tokenisation overlaps with computation;
   * batches hold texts of similar length. Rejects with TextTooLongError; RuntimeError BAD_OPTION, BAD_ARGUMENT,
   * EMPTY_PROMPT, BAD_TOKEN, BAD_EMBEDDING (a number is NaN or infinite), ABORTED, DISPOSED; BackendError OUT_OF_MEMORY.
   */
  async embed(texts: readonly EmbedInput[], options: EmbedOptions = {}): Promise<Embeddings> {
    const job = this.embedJob('embed', texts, options);
    const computed = await whileLive(this.needLive, () => computeTexts(job, listenersOf(options)));
    const { values, tokens, truncated } = computed;
    return new Embeddings(values, job.width, tokens, truncated);
  }

  /**
   * Embeds texts as `embed` does, and gives each vector as soon as it is computed: texts of similar length together, so
   * not in the order of the texts, but with their indices. Computes while it is read. Leaving the loop ends the call;
   * an abort or an error rejects the next read, and what was read stays valid.
   */
  async *embedEach(
    texts: readonly EmbedInput[],
    options: EmbedOptions = {},
  ): AsyncGenerator<EmbeddedText, void, void> {
    const steps = computeInSteps(this.embedJob('embedEach', texts, options), listenersOf(options));
    try {
      for (;;) {
        const { value: step } = await whileLive(this.needLive, () => steps.next());
        if (!step) return;
        yield* step;
      }
    } finally {
      await steps.return();
    }
  }

  /**
   * Ranks texts by relevance to a query, with a cross-encoder or a decoder that answers yes or no. Rejects with TextTooLongError; RuntimeError
   * NO_CLASSIFIER, BAD_OPTION, BAD_ARGUMENT, BAD_LOGITS, ABORTED, DISPOSED; BackendError OUT_OF_MEMORY.
   */
  async rerank(query: string, texts: readonly string[], options: TextsOptions = {}): Promise<Ranking> {
    this.needLive();
    checkArgument('rerank', 'query', query, rules.text, badArgument);
    checkArgument('rerank', 'texts', texts, rules.texts, badArgument);
    checkOptions('rerank', options, textsSchema, badOption);
    if (!this.ranks)
      throw new RuntimeError(
        'NO_CLASSIFIER',
        `${this.path} ranks no texts: it has ${this.config.labels || 'no'} classifier outputs, and a cross-encoder has one. Embed the texts, and compare`,
      );
    const encoder = await this.pairs(query, this.limitOf(options));
    const job = this.job(texts, encoder, 1, 'classifyBatch', options);
    const { signal, onProgress } = options;
    const listeners = {
      signal,
      ...(onProgress && { onProgress: (counts: TextCounts) => onProgress({ phase: 'rerank', ...counts }) }),
    };
    const { values, tokens, truncated } = await whileLive(this.needLive, () => computeTexts(job, listeners));
    const ranked = Array.from(values, (logit, index) => ({
      index,
      logit,
      score: 1 / (1 + Math.exp(-logit)),
    }));
    return { ranked: ranked.sort((a, b) => b.logit - a.logit || a.index - b.index), tokens, truncated };
  }

  /**
   * The tokens of a text, start and end tokens included: what `embed` computes, unless the text is longer than `maxTokens`.
   * @throws TokenizerError BAD_ARGUMENT, BAD_OPTION
   */
  tokenize(text: string, options?: EncodeOptions): number[] {
    return this.tokenizer.encode(text, options);
  }

  /** @throws TokenizerError BAD_TOKEN, BAD_ARGUMENT, BAD_OPTION */
  detokenize(ids: Iterable<number>, options?: DecodeOptions): string {
    return this.tokenizer.decode(ids, options);
  }

  /**
   * Frees the weights, and the backend unless the caller made it. Running calls reject. Disposing twice is harmless.
   */
  dispose(): void {
    if (this.disposed) return;
    this.disposed = true;
    this.parts.encoder.dispose();
    this.parts.release();
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  private embedJob(call: string, texts: readonly EmbedInput[], options: EmbedOptions): TextsJob {
    this.needLive();
    checkArgument(call, 'texts', texts, inputs, badArgument);
    checkOptions(call, options, embedSchema, badOption);
    needTexts(texts, options);
    const { dimensions = this.dimensions } = options;
    needWhole('dimensions', dimensions, 1, this.dimensions);
    const encoder = singleTexts(this.tokenizer, this.prefixOf(options), this.limitOf(options));
    this.sayOnce();
    const job = this.job(texts, encoder, dimensions, 'embedBatch', options);
    if (dimensions === this.dimensions) return job;
    const { normalise } = this.config;
    const shorter = (rows: Float32Array) => firstNumbers(rows, this.dimensions, dimensions, normalise);
    return { ...job, compute: async (...call) => shorter(await job.compute(...call)) };
  }

  private pairs(query: string, limit: TextLimit): Promise<TextEncoder> {
    const { template } = this;
    return template === undefined
      ? pairedTexts(this.tokenizer, query, this.config, limit)
      : promptedTexts(this.tokenizer, query, template, limit);
  }

  private sayOnce(): void {
    if (!this.said) this.parts.notice?.();
    this.said = true;
  }

  private job(
    texts: readonly EmbedInput[],
    encoder: TextEncoder,
    width: number,
    method: 'embedBatch' | 'classifyBatch',
    limits: Pick<TextsOptions, 'maxTokens' | 'truncate'>,
  ): TextsJob {
    const backend = this.parts.encoder;
    return {
      texts,
      encoder,
      width,
      kind: kinds[method],
      ...this.limitOf(limits),
      vocabulary: this.config.vocabulary,
      maxBatch: backend.maxBatch,
      callsInFlight: backend.callsInFlight,
      compute: backend[method].bind(backend),
    };
  }

  private limitOf({
    maxTokens,
    truncate = maxTokens !== undefined,
  }: Pick<TextsOptions, 'maxTokens' | 'truncate'>): TextLimit {
    const most = maxTokens ?? this.maxTokens;
    needWhole('maxTokens', most, 3, this.maxTokens);
    return { maxTokens: most, truncate };
  }

  private prefixOf({ prompt, prefix = '' }: EmbedOptions): string {
    if (prompt === undefined) return prefix;
    if (Object.hasOwn(this.prompts, prompt)) return this.prompts[prompt] + prefix;
    const names =
      Object.keys(this.prompts).join(', ') || 'none: give `prefix` instead (--prefix on the command line)';
    throw new RuntimeError('BAD_OPTION', `prompt is '${prompt}'; the prompts of ${this.path} are ${names}`);
  }

  private readonly needLive = (): void => {
    if (this.disposed) throw new RuntimeError('DISPOSED', `the model ${this.path} has been disposed`);
  };
}
