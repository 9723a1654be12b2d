import { QuernError } from '@quern/core';
import type { Lease } from '../engine/lease.js';
import { firstChoice, type TokenChoice, tokenChoice } from '../engine/token-choice.js';
import type { DraftSource } from '../speculation/draft-source.js';
import { needExactRows } from '../speculation/speculate-options.js';
import type { Decoding } from './decoding.js';
import type { EndReason, GenerateOptions, GenerationPiece, GenerationResult } from './generate-options.js';
import type { GenerationSource, OpenedSequence, Prompt } from './generation-source.js';
import { openDecoding } from './open-decoding.js';
import { TextOutput } from './text-output.js';

const stopsOf = ({ stop = [] }: GenerateOptions): readonly string[] =>
  typeof stop === 'string' ? [stop] : stop;

const perSecond = (count: number, ms: number): number => (ms > 0 && count > 0 ? (1000 * count) / ms : 0);

/** One generation under way, from the first token of the prompt to the result. */
export class Run {
  private readonly choice: TokenChoice;
  private readonly output: TextOutput;
  private readonly tokens: number[] = [];
  /** Tokens whose text has not been given out. */
  private pending: number[] = [];
  /** Tokens that have been computed, and how many of them have been taken. */
  private ahead: readonly number[] = [];
  private taken = 0;
  private readonly draft: DraftSource | undefined;
  private opened: OpenedSequence | undefined;
  private decoding: Decoding | undefined;
  private reason: EndReason | undefined;
  private reused = 0;
  private prefillMs = 0;
  private decodeMs = 0;

  /** Checks everything that can be checked before anything is computed. */
  static async begin(source: GenerationSource, options: GenerateOptions): Promise<Run> {
    source.needLive();
    return new Run(source, options, await source.prompt());
  }

  private constructor(
    private readonly source: GenerationSource,
    private readonly options: GenerateOptions,
    private readonly prompt: Prompt,
  ) {
    if (options.speculate) needExactRows(source.engine.backend);
    this.draft = source.draft();
    this.choice = tokenChoice(options, source.vocabulary);
    for (const id of this.prompt.ids) this.choice.accept(id);
    const { special = false } = options;
    const stop = stopsOf(options);
    this.output = new TextOutput(source.tokenizer, { stop, special, continues: this.prompt.continues });
  }

  /** Computes until there is text to show, or the end: then the rest, and after it undefined. */
  async next(): Promise<GenerationPiece | undefined> {
    while (!this.reason) {
      const text = await this.untilAborted();
      if (this.reason) this.close();
      if (text !== '') return this.piece(text);
    }
    const rest = this.output.flush();
    return rest !== '' || this.pending.length > 0 ? this.piece(rest) : undefined;
  }

  /** Frees the sequence. Where the generation has not ended, that ends it. */
  close(): void {
    this.reason ??= 'abort';
    const { opened } = this;
    if (!opened) return;
    this.opened = undefined;
    this.decoding?.close();
    const held = [...this.prompt.ids, ...this.tokens];
    const { sequence } = opened.lease;
    sequence.truncate(Math.min(sequence.length, held.length)); // tokens nobody took are no part of it
    opened.close(held.slice(0, sequence.length));
  }

  /** What has been generated so far. */
  result(): GenerationResult {
    const { prompt, tokens, reused, prefillMs, decodeMs } = this;
    this.output.flush();
    return {
      text: this.output.text,
      tokens,
      reason: this.reason ?? 'abort',
      promptTokens: prompt.ids.length,
      reusedTokens: reused,
      draftedTokens: this.decoding?.drafted ?? 0,
      acceptedTokens: this.decoding?.accepted ?? 0,
      prefillMs,
      decodeMs,
      prefillTokensPerSecond: perSecond(prompt.ids.length - reused, prefillMs),
      decodeTokensPerSecond: perSecond(tokens.length - 1, decodeMs),
    };
  }

  /** One step; an abort by the caller's own signal is an end like others. */
  private async untilAborted(): Promise<string> {
    const { signal } = this.options;
    try {
      if (!signal?.aborted) return await (this.decoding ? this.decode(this.decoding) : this.prefill());
    } catch (error) {
      const isAbort = signal?.aborted === true && error instanceof QuernError && error.code === 'ABORTED';
      if (!isAbort) throw error;
    }
    this.reason = 'abort';
    return '';
  }

  /** Computes the prompt, but for what is reused, and takes the token after it. */
  private async prefill(): Promise<string> {
    const { engine } = this.source;
    const { ids } = this.prompt;
    const { signal, onProgress } = this.options;
    this.opened = await this.source.open(ids, this.room);
    this.source.needLive();
    const { lease, reused } = this.opened;
    this.reused = reused;
    const start = performance.now();
    const choice = firstChoice(this.choice);
    const options = { signal, onProgress };
    const token = await engine.prefill(lease.sequence, ids.slice(reused), choice, options);
    this.prefillMs = performance.now() - start;
    this.choice.accept(token);
    this.decoding = await this.openDecoding(lease);
    return this.take(token);
  }

  private openDecoding({ sequence }: Lease): Promise<Decoding> {
    const { engine, tokenizer } = this.source;
    const { signal, ignoreEos, speculate, maxWaitMs } = this.options;
    const stops = Int32Array.from(ignoreEos ? [] : (tokenizer?.eog ?? []));
    const { choice, draft, room } = this;
    const prompt = this.prompt.ids;
    const what = { prompt, room, speculate, draft, maxWaitMs };
    return openDecoding({ engine, sequence, choice, stops, signal, ...what });
  }

  /** Takes the token after the last, which is computed unless that has been done ahead. */
  private async decode(decoding: Decoding): Promise<string> {
    this.source.needLive();
    if (this.taken === this.ahead.length) {
      const start = performance.now();
      const last = this.tokens[this.tokens.length - 1]!;
      this.ahead = await decoding.next(last, this.room - this.prompt.ids.length - this.tokens.length);
      this.decodeMs += performance.now() - start;
      this.taken = 0;
    }
    return this.take(this.ahead[this.taken++]!);
  }

  /** Most tokens that the sequence may come to hold. */
  private get room(): number {
    const { maxTokens = this.source.context } = this.options;
    return Math.min(this.source.context, this.prompt.ids.length + maxTokens);
  }

  /** Adds a token to the text, unless it ends it. Returns the text that it completes. */
  private take(token: number): string {
    const { maxTokens, ignoreEos } = this.options;
    const isEnd = !ignoreEos && this.source.tokenizer?.eog.has(token);
    if (maxTokens === 0 || isEnd) {
      this.reason = isEnd ? 'eos' : 'length';
      return '';
    }
    this.tokens.push(token);
    this.pending.push(token);
    const text = this.output.push(token);
    this.reason = this.endReason();
    return text;
  }

  private endReason(): EndReason | undefined {
    if (this.output.stopped) return 'stop';
    if (this.tokens.length === this.options.maxTokens) return 'length';
    if (this.prompt.ids.length + this.tokens.length >= this.source.context) return 'context';
    return undefined;
  }

  private piece(text: string): GenerationPiece {
    const tokens = this.pending;
    this.pending = [];
    return { text, tokens };
  }
}
