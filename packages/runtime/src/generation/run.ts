import { QuernError } from '@quern/core';
import { type TokenChoice, tokenChoice } from '../engine/token-choice.js';
import {
  type EndReason,
  type GenerateOptions,
  type GenerationPiece,
  type GenerationResult,
  needGenerateOptions,
} from './generate-options.js';
import type { GenerationSource, OpenedSequence, Prompt } from './generation-source.js';
import { TextOutput } from './text-output.js';

const perSecond = (count: number, ms: number): number => (ms > 0 && count > 0 ? (1000 * count) / ms : 0);

/** One generation under way, from the first token of the prompt to the result. */
export class Run {
  private readonly prompt: Prompt;
  private readonly choice: TokenChoice;
  private readonly output: TextOutput;
  private readonly tokens: number[] = [];
  /** Tokens whose text has not been given out. */
  private pending: number[] = [];
  private opened: OpenedSequence | undefined;
  private reason: EndReason | undefined;
  private reused = 0;
  private prefillMs = 0;
  private decodeMs = 0;

  /** Checks everything that can be checked before anything is computed. */
  constructor(
    private readonly source: GenerationSource,
    private readonly options: GenerateOptions,
  ) {
    source.needLive();
    needGenerateOptions(options);
    this.prompt = source.prompt();
    this.choice = tokenChoice(options, source.vocabulary);
    for (const id of this.prompt.ids) this.choice.accept(id);
    const { stop = [], special = false } = options;
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
    this.opened = undefined;
    opened?.close([...this.prompt.ids, ...this.tokens].slice(0, opened.lease.sequence.length));
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
      if (!signal?.aborted) return await (this.opened ? this.decode(this.opened) : this.prefill());
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
    const token = await engine.prefill(lease.sequence, ids.slice(reused), this.choice, {
      signal,
      onProgress,
    });
    this.prefillMs = performance.now() - start;
    return this.take(token);
  }

  /** Computes the last token and takes the one after it. */
  private async decode({ lease }: OpenedSequence): Promise<string> {
    this.source.needLive();
    const start = performance.now();
    const last = this.tokens[this.tokens.length - 1]!;
    const token = await this.source.engine.decode(lease.sequence, last, this.choice, this.options.signal);
    this.decodeMs += performance.now() - start;
    return this.take(token);
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
    this.choice.accept(token);
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
