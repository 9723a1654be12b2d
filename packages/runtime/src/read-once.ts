import { RunQueue } from '@quern/core';
import { RuntimeError } from './error.js';

/** Work under way that gives pieces, and all of it as one result. */
export interface Production<Piece, Result> {
  /** The next piece; undefined at the end. */
  next(): Promise<Piece | undefined>;
  /** Frees what is held. Where the work has not ended, that ends it. Closing twice is harmless. */
  close(): void | Promise<void>;
  /** What has been made so far; asked for once closed. */
  result(): Result;
}

/**
 * Something that is made as it is read: by a loop over its pieces, or by awaiting `result` for all of it at once. It can be
 * read once. Nothing runs until somebody reads; a loop that is left early frees everything. Errors reject both the loop and
 * `result`.
 */
export abstract class ReadOnce<Piece, Result> implements AsyncIterable<Piece> {
  private readonly outcome: Promise<Result>;
  private settle!: (result: Result) => void;
  private fail!: (error: unknown) => void;
  private production: Production<Piece, Result> | undefined;
  /** Steps asked for are taken one after the other. */
  private readonly turns = new RunQueue();
  private taken = false;
  private over = false;

  /**
   * @param begin starts the work; what it throws rejects the first step
   * @param nothing the result where nobody read
   * @param consumed the message for those who read a second time
   */
  protected constructor(
    private readonly begin: () => Production<Piece, Result> | Promise<Production<Piece, Result>>,
    private readonly nothing: Result,
    private readonly consumed: string,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    this.outcome.catch(() => {}); // whoever reads the pieces has the error from there
  }

  /**
   * The result, at the end. Where nobody has begun to read the pieces by the next turn of the event loop, everything is
   * computed at once.
   */
  get result(): Promise<Result> {
    if (!this.taken) setImmediate(() => this.drain());
    return this.outcome;
  }

  /** @throws RuntimeError CONSUMED the second time, or where `result` alone was awaited before. */
  [Symbol.asyncIterator](): AsyncIterator<Piece, void, void> {
    if (this.taken) throw new RuntimeError('CONSUMED', this.consumed);
    this.taken = true;
    return {
      next: () => this.turns.run(() => this.advance()),
      return: () => this.turns.run(() => this.leave()),
    };
  }

  private async advance(): Promise<IteratorResult<Piece, void>> {
    if (this.over) return { done: true, value: undefined };
    try {
      this.production ??= await this.begin();
      const value = await this.production.next();
      return value === undefined ? await this.leave() : { done: false, value };
    } catch (error) {
      this.over = true;
      try {
        await this.production?.close();
      } finally {
        this.fail(error);
      }
      throw error;
    }
  }

  /** The end, or the reader stops: what has been made so far is the result. */
  private async leave(): Promise<IteratorResult<Piece, void>> {
    if (!this.over) {
      this.over = true;
      await this.production?.close();
      this.settle(this.production?.result() ?? this.nothing);
    }
    return { done: true, value: undefined };
  }

  private async drain(): Promise<void> {
    if (this.taken) return;
    const reader = this[Symbol.asyncIterator]();
    try {
      while (!(await reader.next()).done);
    } catch {} // `advance` has rejected the result
  }
}
