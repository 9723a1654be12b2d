import { RunQueue } from '@quern/core';
import { codeOf, RuntimeError } from './error.js';

/** Running work that gives pieces, and one result. */
export interface Production<Piece, Result> {
  /** The next piece; undefined at the end. */
  next(): Promise<Piece | undefined>;
  /** Ends a pending `next` early: nobody reads its piece. */
  cancel?(): void;
  /** Frees all resources and ends running work. Closing twice is harmless. */
  close(): void | Promise<void>;
  /** The result so far. Called after `close`. */
  result(): Result;
}

/** Methods, so that a reader of more than `Result` is a reader of `Result`. */
interface Settlement<Result> {
  resolve(result: Result): void;
  reject(error: unknown): void;
}

/** Codes of work that the program itself ended: a result that nobody awaits is then no fault. */
const ended: readonly (string | undefined)[] = ['ABORTED', 'DISPOSED'];

/** Closes the work of readers that were garbage-collected. */
const dropped = new FinalizationRegistry<() => void>((leave) => leave());

/**
 * Work that runs while it is read: by a loop over its pieces, or by awaiting `result`. Readable once. Nothing runs
 * before the first read. Leaving the loop early frees everything; so does garbage collection of the reader. Errors
 * reject both the loop and `result`. A `result` that nobody awaits is an unhandled rejection, unless a loop gets the error,
 * or the work was aborted or disposed.
 */
export abstract class ReadOnce<Piece, Result> implements AsyncIterable<Piece> {
  private readonly outcome: Promise<Result>;
  private settlement!: Settlement<Result>;
  private production: Production<Piece, Result> | undefined;
  /** Runs requested steps one after the other. */
  private readonly turns = new RunQueue();
  private taken = false;
  /** A piece is being computed. */
  private isPending = false;
  /** The reader wants no further piece. */
  private left = false;
  private over = false;

  /**
   * @param begin starts the work; its error rejects the first step
   * @param nothing the result without a reader
   * @param consumed the message for a second read
   */
  protected constructor(
    private readonly begin: () => Production<Piece, Result> | Promise<Production<Piece, Result>>,
    private readonly nothing: Result,
    private readonly consumed: string,
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.settlement = { resolve, reject };
    });
  }

  /** The result. Without a reader of the pieces by the next turn of the event loop, everything is computed at once. */
  get result(): Promise<Result> {
    if (!this.taken) setImmediate(() => this.drain());
    return this.outcome;
  }

  /** @throws RuntimeError CONSUMED on the second call, or after `result` alone was awaited */
  [Symbol.asyncIterator](): AsyncIterator<Piece, void, void> {
    if (this.taken) throw new RuntimeError('CONSUMED', this.consumed);
    this.outcome.catch(() => {}); // the loop gets the error
    return this.read();
  }

  private read(): AsyncIterator<Piece, void, void> {
    this.taken = true;
    const reader = {
      next: () => this.turns.run(() => this.advance()),
      return: () => {
        this.left = true;
        if (this.isPending) this.production?.cancel?.();
        return this.turns.run(() => this.leave());
      },
    };
    dropped.register(reader, this.abandon); // long-lived objects must not refer to the reader
    return reader;
  }

  private readonly abandon = (): void => {
    this.turns.run(() => this.leave()).catch(this.settlement.reject);
  };

  private async advance(): Promise<IteratorResult<Piece, void>> {
    if (this.over) return { done: true, value: undefined };
    this.isPending = true;
    try {
      this.production ??= await this.begin();
      const value = this.left ? undefined : await this.production.next();
      return value === undefined ? await this.leave() : { done: false, value };
    } catch (error) {
      this.over = true;
      try {
        await this.production?.close();
      } finally {
        if (ended.includes(codeOf(error))) this.outcome.catch(() => {});
        this.settlement.reject(error);
      }
      throw error;
    } finally {
      this.isPending = false;
    }
  }

  /** The end, or the reader stopped: the result is everything so far. */
  private async leave(): Promise<IteratorResult<Piece, void>> {
    if (!this.over) {
      this.over = true;
      await this.production?.close();
      this.settlement.resolve(this.production?.result() ?? this.nothing);
    }
    return { done: true, value: undefined };
  }

  private async drain(): Promise<void> {
    if (this.taken) return;
    const reader = this.read();
    try {
      while (!(await reader.next()).done);
    } catch {} // `advance` has already rejected the result
  }
}
