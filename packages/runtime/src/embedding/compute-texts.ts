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
export interface TextCounts {
  readonly done: number;
  readonly total: number;
  readonly tokens: number;
}

export interface ComputeOptions {
  readonly signal?: AbortSignal | undefined;
  /** After each step. */
  readonly onProgress?: ((counts: TextCounts) => void) | undefined;
}

/** The numbers of one text. */
export interface ComputedText {
  /** Index of the text. */
  readonly index: number;
  /** [width] */
  readonly values: Float32Array;
  readonly tokens: number;
  /** Whether the text was cut off at the end. */
  readonly truncated: boolean;
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

/** Texts of one step, and their indices in the job. */
interface Step {
  readonly indices: readonly number[];
  readonly texts: readonly FittedText[];
}

/** The steps of all texts, window by window. The texts of a window are sorted by length; the next one is tokenised ahead. */
async function* stepsOf(job: TextsJob, signal: AbortSignal): AsyncGenerator<Step, void, void> {
  let ahead = readWindow(job, 0, signal);
  try {
    for (let first = 0; ; ) {
      const window = await ahead;
      if (window.length === 0) return;
      const start = first;
      first += window.length;
      ahead = readWindow(job, first, signal);
      ahead.catch(() => {}); // reported when its turn comes
      const lengths = window.map(({ ids }) => ids.length);
      for (const batch of batchesByLength(lengths, job.maxBatch))
        yield { indices: batch.map((i) => start + i), texts: batch.map((i) => window[i]!) };
    }
  } finally {
    await ahead.catch(() => {});
  }
}

async function computeStep(
  { width, compute, kind }: TextsJob,
  { indices, texts }: Step,
  signal: AbortSignal,
): Promise<ComputedText[]> {
  const rows = await compute(texts, { signal });
  needFinite(rows, kind.code, (i) => `${kind.name} of text ${indices[Math.floor(i / width)]!}`);
  return texts.map(({ ids, truncated }, row) => ({
    index: indices[row]!,
    values: rows.slice(row * width, (row + 1) * width),
    tokens: ids.length,
    truncated,
  }));
}

/** Steps that run at the same time; results in the order of their ends. */
class RunningSteps {
  private readonly running = new Set<Promise<void>>();
  private readonly ended: ComputedText[][] = [];
  private failure: { readonly error: unknown } | undefined;

  get count(): number {
    return this.running.size;
  }

  add(step: Promise<ComputedText[]>): void {
    const task = step
      .then(
        (texts) => {
          this.ended.push(texts);
        },
        (error: unknown) => {
          this.failure ??= { error };
        },
      )
      .finally(() => this.running.delete(task));
    this.running.add(task);
  }

  /** The texts of the step that ended first; undefined where none is left. */
  async next(): Promise<ComputedText[] | undefined> {
    while (!this.failure && this.ended.length === 0 && this.running.size > 0)
      await Promise.race(this.running);
    if (this.failure) throw this.failure.error;
    return this.ended.shift();
  }

  async settled(): Promise<void> {
    await Promise.all(this.running);
  }
}

/**
 * Computes all texts and gives those of each step as soon as it has ended: texts of similar length, not in order. One
 * step always waits, so that the device is never idle while the reader asks for more; a reader that does not ask stops
 * the computation. Leaving early ends running steps. Rejects with RuntimeError ABORTED, BAD_OPTION, EMPTY_PROMPT,
 * PROMPT_TOO_LONG, the code of the job's kind, and errors of `compute` and `onProgress`.
 */
export async function* computeInSteps(
  job: TextsJob,
  { signal, onProgress }: ComputeOptions,
): AsyncGenerator<readonly ComputedText[], void, void> {
  needNotAborted(signal, 'the call');
  const stop = new AbortController();
  const forward = () => stop.abort(signal?.reason);
  signal?.addEventListener('abort', forward);
  const steps = stepsOf(job, stop.signal);
  const running = new RunningSteps();
  let [done, tokens] = [0, 0];
  try {
    for (;;) {
      await fill(running, steps, job, stop.signal);
      const texts = await running.next();
      if (!texts) return;
      done += texts.length;
      for (const text of texts) tokens += text.tokens;
      onProgress?.({ done, total: job.texts.length, tokens });
      yield texts;
    }
  } catch (error) {
    needNotAborted(signal, 'the call');
    throw error;
  } finally {
    signal?.removeEventListener('abort', forward);
    stop.abort();
    await Promise.all([running.settled(), steps.return()]);
  }
}

/** Starts steps until enough of them run. */
async function fill(
  running: RunningSteps,
  steps: AsyncGenerator<Step, void, void>,
  job: TextsJob,
  signal: AbortSignal,
): Promise<void> {
  const most = Math.max(2, job.callsInFlight); // at least one step waits
  while (running.count < most) {
    const { value: step } = await steps.next();
    if (!step) return;
    running.add(computeStep(job, step, signal));
  }
}

/** Computes all texts. Rejects as `computeInSteps`. */
export async function computeTexts(job: TextsJob, options: ComputeOptions): Promise<ComputedTexts> {
  const all = { values: new Float32Array(job.texts.length * job.width), tokens: 0, truncated: 0 };
  for await (const texts of computeInSteps(job, options))
    for (const { index, values, tokens, truncated } of texts) {
      all.values.set(values, index * job.width);
      all.tokens += tokens;
      all.truncated += truncated ? 1 : 0;
    }
  return all;
}
