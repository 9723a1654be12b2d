import { RunQueue } from '@quern/core';
import { RuntimeError } from '../error.js';
import type { Segment, TranscriptionResult } from './options.js';
import type { Transcriber } from './transcriber.js';

type Step = IteratorResult<Segment, void>;

/**
 * A transcript that is made as it is read: `for await (const segment of transcription)`, or `await transcription.result` for
 * all of it at once. It can be read once. Nothing runs until somebody reads; a loop that is left early frees everything.
 * Errors reject both the loop and `result`.
 */
export class Transcription implements AsyncIterable<Segment> {
  private readonly outcome: Promise<TranscriptionResult>;
  private settle!: (result: TranscriptionResult) => void;
  private fail!: (error: unknown) => void;
  private readonly turns = new RunQueue();
  private running: { transcriber: Transcriber; segments: AsyncGenerator<Segment, void, void> } | undefined;
  private taken = false;
  private over = false;

  constructor(
    private readonly begin: () => {
      transcriber: Transcriber;
      segments: AsyncGenerator<Segment, void, void>;
    },
  ) {
    this.outcome = new Promise((resolve, reject) => {
      this.settle = resolve;
      this.fail = reject;
    });
    this.outcome.catch(() => {}); // whoever reads the segments has the error from there
  }

  /** The whole transcript. Where nobody has begun to read by the next turn of the event loop, all is computed at once. */
  get result(): Promise<TranscriptionResult> {
    if (!this.taken) setImmediate(() => this.drain());
    return this.outcome;
  }

  /** @throws RuntimeError CONSUMED the second time, or where `result` alone was awaited before. */
  [Symbol.asyncIterator](): AsyncIterator<Segment, void, void> {
    if (this.taken)
      throw new RuntimeError(
        'CONSUMED',
        'a transcription can be read once: keep its segments, or transcribe again',
      );
    this.taken = true;
    return {
      next: () => this.turns.run(() => this.advance()),
      return: () => this.turns.run(() => this.leave()),
    };
  }

  private async advance(): Promise<Step> {
    if (this.over) return { done: true, value: undefined };
    try {
      this.running ??= this.begin();
      const step = await this.running.segments.next();
      return step.done ? await this.leave() : step;
    } catch (error) {
      this.over = true;
      this.running?.transcriber.dispose();
      this.fail(error);
      throw error;
    }
  }

  /** The end, or the reader stops: what was transcribed so far is the result. */
  private async leave(): Promise<Step> {
    if (!this.over && this.running) {
      await this.running.segments.return();
      this.settle(this.running.transcriber.result());
      this.running.transcriber.dispose();
    } else this.settle(nothing);
    this.over = true;
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

/** The result of a transcription that nobody read. */
const nothing: TranscriptionResult = {
  text: '',
  segments: [],
  language: '',
  duration: 0,
  stages: { audioMs: 0, melMs: 0, encodeMs: 0, decodeMs: 0, alignMs: 0, windows: 0, tokens: 0 },
};
