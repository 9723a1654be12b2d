import { onAbort } from '@quern/core';
import type { TokenLogprobs } from '../engine/sampling/logprobs.js';
import { samplingOf } from '../engine/sampling/options.js';
import {
  forFirstToken,
  type SampledToken,
  type SamplingParams,
  samplingParams,
} from '../engine/sampling/params.js';
import type { Sequence } from '../engine/sequence.js';
import { codeOf } from '../error.js';
import type { AdapterLoan } from '../model/adapters.js';
import type { DraftSource } from '../speculation/draft-source.js';
import { needExactRows } from '../speculation/speculate-options.js';
import type { Constraint } from '../structured/constraint.js';
import { outputValue } from '../structured/json-schema.js';
import { whileLive } from '../while-live.js';
import { Decoding } from './decoding.js';
import type { EndReason, GenerateOptions, GenerationPiece, GenerationResult } from './generate-options.js';
import type { GenerationSource, Prompt } from './generation-source.js';
import { TextOutput } from './text-output.js';
import { TokenQueue } from './token-queue.js';

const stopStrings = ({ stop = [] }: GenerateOptions): readonly string[] =>
  typeof stop === 'string' ? [stop] : stop;

const perSecond = (count: number, ms: number): number => (ms > 0 && count > 0 ? (1000 * count) / ms : 0);

/** A running generation, from the first prompt token to the result. */
export class Run<Value = unknown, Text extends string = string> {
  private readonly sampling: SamplingParams;
  private readonly output: TextOutput;
  private readonly tokens: number[] = [];
  /** Tokens whose text has not been given out. */
  private pending: number[] = [];
  /** If they are wanted: those of `tokens`. */
  private readonly logprobs: TokenLogprobs[] | undefined;
  /** Tokens computed, or being computed, that are not part of the text. */
  private ahead: TokenQueue | undefined;
  private closing: Promise<void> | undefined;
  private cancelled = false;
  private readonly draft: DraftSource | undefined;
  private sequence: Sequence | undefined;
  private loan: AdapterLoan | undefined;
  private decoding: Decoding | undefined;
  private reason: EndReason | undefined;
  private cached = 0;
  private prefillMs = 0;
  private decodeMs = 0;

  /** Checks options and prompt before anything is computed. */
  static async begin<Value, Text extends string>(
    source: GenerationSource,
    options: GenerateOptions,
  ): Promise<Run<Value, Text>> {
    source.needLive();
    const prompt = await source.prompt();
    const constraint = await unlessAborted(source.constraint(), options.signal);
    return new Run<Value, Text>(source, options, prompt, constraint);
  }

  private constructor(
    private readonly source: GenerationSource,
    private readonly options: GenerateOptions,
    private readonly prompt: Prompt,
    constraint: Constraint | undefined,
  ) {
    if (options.speculate) needExactRows(source.engine.backend);
    this.draft = source.draft();
    const { logprobs, special = false } = options;
    this.sampling = samplingParams(samplingOf(options), source.vocabulary, { constraint, logprobs });
    for (const id of this.prompt.ids) this.sampling.recent?.accept(id);
    this.logprobs = logprobs === undefined ? undefined : [];
    const stop = stopStrings(options);
    const { continues, shown } = this.prompt;
    this.output = new TextOutput(source.tokenizer, { stop, special, continues, shown });
  }

  /** Computes until there is text, and gives it. At the end: the remaining text, then undefined. */
  async next(): Promise<GenerationPiece | undefined> {
    while (!this.reason) {
      const text = await this.untilAborted();
      if (this.reason) this.close().catch(() => {}); // awaited below
      if (text !== '') return this.piece(text);
    }
    await this.close();
    const rest = this.output.flush();
    return rest !== '' || this.pending.length > 0 ? this.piece(rest) : undefined;
  }

  /** Ends a pending `next`, within a step. */
  cancel(): void {
    this.cancelled = true;
    if (this.decoding) this.decoding.cancel();
    else if (this.sequence) this.source.engine.cancel(this.sequence);
  }

  /** Ends a running generation and frees the sequence: at once, or after the chain that computes its tokens. */
  close(): Promise<void> {
    this.reason ??= 'abort';
    this.closing ??= this.free();
    return this.closing;
  }

  private async free(): Promise<void> {
    const { sequence, ahead } = this;
    const { engine } = this.source;
    if (!sequence) return;
    if (ahead?.isOpen) {
      engine.stop(sequence);
      await ahead.ended;
    }
    this.decoding?.close();
    sequence.truncate(this.prompt.ids.length + this.tokens.length); // drops computed tokens that nobody took
    engine.release(sequence);
    this.loan?.end();
  }

  /** The result so far. */
  result(): GenerationResult<Value, Text> {
    const { prompt, tokens, cached, prefillMs, decodeMs } = this;
    this.output.flush();
    return {
      text: this.output.text as Text,
      value: this.value,
      tokens,
      ...(this.logprobs && { logprobs: this.logprobs }),
      reason: this.reason ?? 'abort',
      ...(this.reason === 'stop' && { stop: this.output.stop }),
      promptTokens: prompt.ids.length,
      cachedTokens: cached,
      draftedTokens: this.decoding?.drafted ?? 0,
      acceptedTokens: this.decoding?.accepted ?? 0,
      prefillMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(prompt.ids.length - cached, prefillMs),
      decodeTokensPerSecond: perSecond(tokens.length - 1, decodeMs),
    };
  }

  private get value(): Value | undefined {
    const { schema, choices } = this.options;
    const { text } = this.output;
    if (this.reason !== 'eos' || (schema === undefined && choices === undefined)) return undefined;
    return (schema === undefined ? text : outputValue(schema, text)) as Value | undefined;
  }

  /** One step. An abort by the caller's signal, or `cancel`, ends the generation without an error. */
  private async untilAborted(): Promise<string> {
    const { signal } = this.options;
    const isWanted = (): boolean => !this.cancelled && !signal?.aborted;
    try {
      if (isWanted()) return await whileLive(this.source.needLive, () => this.step());
    } catch (error) {
      if (isWanted() || codeOf(error) !== 'ABORTED') throw error;
    }
    this.reason = 'abort';
    return '';
  }

  private step(): Promise<string> {
    return this.decoding ? this.decode(this.decoding) : this.prefill();
  }

  /** Computes the prompt, without the reused tokens, and takes the first token. */
  private async prefill(): Promise<string> {
    const { engine } = this.source;
    const { signal, maxWaitMs, onPrompt, onProgress, priority, reuse, group } = this.options;
    this.source.needLive();
    this.loan = this.source.adapters();
    const sequence = engine.sequence({ priority, maxWaitMs, reuse, group, adapters: this.loan.uses });
    this.sequence = sequence;
    const sampling = forFirstToken(this.sampling);
    const first = await engine.prefill(sequence, this.prompt.ids, sampling, { signal, onPrompt, onProgress });
    this.prefillMs = performance.now() - sequence.startedAt;
    this.cached = sequence.cachedTokens;
    this.decoding = this.openDecoding(sequence);
    return this.take(first);
  }

  private openDecoding(sequence: Sequence): Decoding {
    const { engine, tokenizer } = this.source;
    const { signal, ignoreEos, speculate } = this.options;
    const stops = Int32Array.from(ignoreEos ? [] : (tokenizer?.eog ?? []));
    const { sampling, draft, room } = this;
    const prompt = this.prompt.ids;
    return new Decoding({ engine, sequence, sampling, stops, signal, prompt, room, speculate, draft });
  }

  /** Takes the next token; requests more where no token is ahead. */
  private async decode(decoding: Decoding): Promise<string> {
    this.source.needLive();
    for (;;) {
      this.ahead ??= new TokenQueue((onToken) => this.request(decoding, onToken));
      const token = await this.ahead.next();
      if (token) return this.take(token);
      this.ahead = undefined;
    }
  }

  private async request(
    decoding: Decoding,
    onToken: (token: SampledToken) => void,
  ): Promise<readonly SampledToken[]> {
    const start = performance.now();
    const last = this.tokens[this.tokens.length - 1]!;
    const most = this.room - this.prompt.ids.length - this.tokens.length;
    try {
      return await decoding.next(last, most, onToken);
    } finally {
      this.decodeMs += performance.now() - start;
    }
  }

  /** Most tokens in the sequence. */
  private get room(): number {
    const { maxTokens = this.source.context } = this.options;
    return Math.min(this.source.context, this.prompt.ids.length + maxTokens);
  }

  /** Adds a token to the text, or ends the text. Returns the text completed by the token. */
  private take({ token, logprobs }: SampledToken): string {
    const { maxTokens, ignoreEos } = this.options;
    const isEnd = !ignoreEos && this.source.tokenizer?.eog.has(token);
    if (maxTokens === 0 || isEnd) {
      this.reason = isEnd ? 'eos' : 'length';
      return '';
    }
    this.tokens.push(token);
    this.pending.push(token);
    if (logprobs) this.logprobs?.push(logprobs);
    const text = this.output.push(token);
    this.reason = this.endReason();
    return text;
  }

  private endReason(): EndReason | undefined {
    if (this.output.stop !== undefined) return 'stop';
    if (this.tokens.length === this.options.maxTokens) return 'length';
    if (this.prompt.ids.length + this.tokens.length >= this.source.context) return 'context';
    return undefined;
  }

  private piece(text: string): GenerationPiece {
    const tokens = this.pending;
    this.pending = [];
    const end = this.tokens.length; // all tokens have been given out
    return {
      text,
      tokens,
      ...(this.logprobs && { logprobs: this.logprobs.slice(end - tokens.length, end) }),
    };
  }
}

/** The value; undefined as soon as the signal is aborted: nothing is computed then. */
function unlessAborted<T>(value: Promise<T>, signal: AbortSignal | undefined): Promise<T | undefined> {
  if (!signal || signal.aborted) return value;
  return new Promise((resolve, reject) => {
    const end = onAbort(signal, () => resolve(undefined));
    value.then(resolve, reject).finally(end);
  });
}
