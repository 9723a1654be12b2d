import { TimeSlice } from '@quern/core';
import type { BatchOptions, EncodedText } from '@quern/models';
import { needFinite } from '../broken-numbers.js';
import { RuntimeError } from '../error.js';
import { needNotAborted } from '../need-not-aborted.js';
import { batchesByLength } from './batches.js';
import { type FittedText, type TextEncoder, textTooLong } from './encode-texts.js';

/** A text, or its token ids with start and end tokens. */
export type EmbedInput = string | readonly number[];

/** Finished texts, all texts, and the tokens of the finished ones. */
export interface TextsProgress {
  readonly done: number;
  readonly total: number;
  readonly tokens: number;
}

export interface ComputeOptions {
  readonly signal?: AbortSignal | undefined;
  /** After each step. */
  readonly onProgress?: ((progress: TextsProgress) => void) | undefined;
}

/** The numbers of all texts, and their totals. */
export interface ComputedTexts {
  /** [texts · width], in the order of the texts. */
  readonly values: Float32Array;
  readonly tokens: number;
  /** Number of texts cut off at the end. */
  readonly truncated: number;
}

/** Computes `width` numbers per text. */
export interface TextsJob {
  readonly texts: readonly EmbedInput[];
  readonly encoder: TextEncoder;
  readonly width: number;
  /** Error code for NaN or infinity, and the name of the numbers in the message. */
  readonly kind: { readonly code: 'BAD_LOGITS' | 'BAD_EMBEDDING'; readonly name: string };
  /** Most tokens of a text, whether longer ones are cut off, and V: for texts that are token ids. */
  readonly maxTokens: number;
  readonly truncate: boolean;
  readonly vocabulary: number;
  /** Most tokens of one step. */
  readonly maxBatch: number;
  /** Steps that the device accepts at the same time. */
  readonly callsInFlight: number;
  compute(texts: readonly EncodedText[], options: BatchOptions): Promise<Float32Array>;
}

/**
 * Steps per window. One window is tokenised ahead and sorted by length, so memory does not grow with the number of
 * texts.
 */
const stepsOfWindow = 16;

async function encodeText(job: TextsJob, index: number): Promise<FittedText> {
  const text = job.texts[index];
  const encoded =
    typeof text === 'string' ? await job.encoder.encode(text, index) : fittedIds(job, text, index);
  if (encoded.ids.length > 0) return encoded;
  throw new RuntimeError('EMPTY_PROMPT', `text ${index} has no token, and the model's tokenizer adds none`);
}

/** Token ids as they are: no start or end is added. */
function fittedIds(
  { maxTokens, truncate, vocabulary }: TextsJob,
  ids: readonly number[] | undefined,
  index: number,
): FittedText {
  if (!Array.isArray(ids))
    throw new RuntimeError('BAD_OPTION', `text ${index} is ${typeof ids}; it must be a string or token ids`);
  const wrong = ids.find((id) => !(Number.isInteger(id) && id >= 0 && id < vocabulary));
  if (wrong !== undefined)
    throw new RuntimeError(
      'BAD_TOKEN',
      `text ${index} has token ${wrong}; the vocabulary has ids 0 to ${vocabulary - 1}`,
    );
  if (ids.length > maxTokens && !truncate)
    throw textTooLong(index, `text ${index} has`, ids.length, maxTokens);
  return { ids: ids.slice(0, maxTokens), truncated: ids.length > maxTokens };
}

/** Tokenises one window of consecutive texts from `first` on. Yields to the event loop. */
async function readWindow(
  job: TextsJob,
  first: number,
  signal: AbortSignal | undefined,
): Promise<FittedText[]> {
  const slice = new TimeSlice();
  const window: FittedText[] = [];
  for (let tokens = 0; first + window.length < job.texts.length && tokens < stepsOfWindow * job.maxBatch; ) {
    const encoded = await encodeText(job, first + window.length);
    window.push(encoded);
    tokens += encoded.ids.length;
    if (slice.over) await slice.yield();
    needNotAborted(signal, 'the call');
  }
  return window;
}

/** Collects the results of a job. */
class Results {
  readonly values: Float32Array;
  tokens = 0;
  truncated = 0;
  private done = 0;

  constructor(
    private readonly job: TextsJob,
    private readonly options: ComputeOptions,
  ) {
    this.values = new Float32Array(job.texts.length * job.width);
  }

  /** Computes one batch of a window. `first`: index of the window's first text. */
  async add(window: readonly FittedText[], batch: readonly number[], first: number): Promise<void> {
    const { width, texts, compute, kind } = this.job;
    const encoded = batch.map((index) => window[index]!);
    const rows = await compute(encoded, { signal: this.options.signal });
    needFinite(rows, kind.code, (i) => `${kind.name} of text ${first + batch[Math.floor(i / width)]!}`);
    batch.forEach((index, row) => {
      this.values.set(rows.subarray(row * width, (row + 1) * width), (first + index) * width);
    });
    this.done += batch.length;
    for (const { ids, truncated } of encoded) {
      this.tokens += ids.length;
      this.truncated += truncated ? 1 : 0;
    }
    this.options.onProgress?.({ done: this.done, total: texts.length, tokens: this.tokens });
  }
}

/**
 * Computes all texts, window by window. The texts of a window are sorted by length into batches. While they are
 * computed, the next window is tokenised. One batch always waits, so that the device is never idle. Rejects with
 * RuntimeError ABORTED, BAD_OPTION, EMPTY_PROMPT, PROMPT_TOO_LONG, the code of the job's kind, and errors of `compute` and `onProgress`.
 */
export async function computeTexts(job: TextsJob, options: ComputeOptions): Promise<ComputedTexts> {
  const { signal } = options;
  needNotAborted(signal, 'the call');
  const results = new Results(job, options);
  try {
    let window = await readWindow(job, 0, signal);
    for (let first = 0; window.length > 0; ) {
      const [, next] = await settleAll([
        computeWindow(job, results, window, first),
        readWindow(job, first + window.length, signal),
      ]);
      first += window.length;
      window = next;
    }
  } catch (error) {
    needNotAborted(signal, 'the call');
    throw error;
  }
  return results;
}

async function computeWindow(
  job: TextsJob,
  results: Results,
  window: readonly FittedText[],
  first: number,
): Promise<void> {
  const lengths = window.map(({ ids }) => ids.length);
  const batches = batchesByLength(lengths, job.maxBatch).values();
  let failed = false;
  const work = async () => {
    for (const batch of batches) {
      if (failed) return;
      await results.add(window, batch, first).catch((error) => {
        failed = true;
        throw error;
      });
    }
  };
  const workers = Math.max(2, job.callsInFlight); // at least one batch waits
  await settleAll(Array.from({ length: workers }, work));
}

/** As Promise.all, but rejects only after all promises have settled. */
async function settleAll<T extends readonly Promise<unknown>[]>(
  promises: readonly [...T],
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises) as Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }>;
}
