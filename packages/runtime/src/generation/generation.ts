import { RunQueue } from '@quern/core';
import { RuntimeError } from '../error.js';
import type { GenerateOptions, GenerationPiece, GenerationResult } from './generate-options.js';
import type { GenerationSource } from './generation-source.js';
import { Run } from './run.js';

type Step = IteratorResult<GenerationPiece, void>;

const done: Step = { done: true, value: undefined };

/**
 * A text that is generated as it is read: `for await (const {text} of generation)`, or `await generation.result` for all
 * of it at once. It can be read once. Nothing runs more than milliseconds ahead of the reader, and nothing at all until
 * somebody reads; a loop that is left early frees everything. Errors reject both the loop and `result`.
 */
export class Generation implements AsyncIterable<GenerationPiece> {
  private readonly outcome: Promise<GenerationResult>;
  private settle!: (result: GenerationResult) => void;
  private fail!: (error: unknown) => void;
  private run: Run | undefined;
  /** Steps asked for are taken one after the other. */
  private readonly turns = new RunQueue();
  private taken = false;
  private over = false;

  constructor(
    private readonly source: GenerationSource,
    private readonly options: GenerateOptions,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    this.outcome.catch(() => {}); // whoever reads the pieces has the error from there
  }

  /**
   * The result, once the generation has ended. Where nobody has begun to read the pieces by the next turn of the event
   * loop, everything is computed at once.
   */
  get result(): Promise<GenerationResult> {
    if (!this.taken) setImmediate(() => this.drain());
    return this.outcome;
  }

  /** @throws RuntimeError CONSUMED the second time, or where `result` alone was awaited before. */
  [Symbol.asyncIterator](): AsyncIterator<GenerationPiece, void, void> {
    if (this.taken)
      throw new RuntimeError('CONSUMED', 'a generation can be read once: keep its pieces, or generate again');
    this.taken = true;
    return {
      next: () => this.turns.run(() => this.advance()),
      return: () => this.turns.run(async () => this.leave()),
    };
  }

  private async advance(): Promise<Step> {
    if (this.over) return done;
    try {
      this.run ??= new Run(this.source, this.options);
      const value = await this.run.next();
      return value ? { done: false, value } : this.leave();
    } catch (error) {
      this.over = true;
      this.run?.close();
      this.fail(error);
      throw error;
    }
  }

  /** The end, or the reader stops. */
  private leave(): Step {
    this.over = true;
    this.run?.close();
    this.settle(this.run?.result() ?? nothing);
    return done;
  }

  private async drain(): Promise<void> {
    if (this.taken) return;
    const reader = this[Symbol.asyncIterator]();
    try {
      while (!(await reader.next()).done);
    } catch {} // `advance` has rejected the result
  }
}

/** The result of a generation that nobody read. */
const nothing: GenerationResult = {
  text: '',
  tokens: [],
  reason: 'abort',
  promptTokens: 0,
  reusedTokens: 0,
  draftedTokens: 0,
  acceptedTokens: 0,
  prefillMs: 0,
  decodeMs: 0,
  prefillTokensPerSecond: 0,
  decodeTokensPerSecond: 0,
};
