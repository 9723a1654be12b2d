import type { KvSequence } from '@quern/core';
import type { Engine } from '../engine/engine.js';
import { longestChain } from '../engine/row-graph.js';
import type { TokenChoice } from '../engine/token-choice.js';

/** How a generation comes to the tokens after its first. */
export interface Decoding {
  /**
   * Computes `last`, which the sequence does not hold yet, and gives the tokens that follow: at least one, `most` at the
   * most. The choice has accepted them, and the sequence holds all but the last of them. Rejections leave it as it was.
   */
  next(last: number, most: number): Promise<readonly number[]>;
  /** Tokens that were guessed, and how many of them stayed. */
  readonly drafted: number;
  readonly accepted: number;
  close(): void;
}

export interface DecodingParts {
  readonly engine: Engine;
  readonly sequence: KvSequence;
  readonly choice: TokenChoice;
  /** Tokens that end the generation. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

/** How long JavaScript may sleep while several tokens are computed: short enough for text to flow, and for others who wait to begin. */
const wakeUpMilliseconds = 64;

/**
 * One token per step. While a generation is alone and the device chooses its tokens, nothing needs to look at each: then it
 * goes on by itself for as many as, at the speed of the last, take a few milliseconds.
 */
export class PlainDecoding implements Decoding {
  readonly drafted = 0;
  readonly accepted = 0;
  private millisecondsPerToken = Number.POSITIVE_INFINITY;

  constructor(private readonly parts: DecodingParts) {}

  /** One function for one token: on caches that the weights have filled, each promise more costs microseconds. */
  async next(last: number, most: number): Promise<readonly number[]> {
    const { engine, sequence, choice, stops, signal } = this.parts;
    const start = performance.now();
    const count = this.affordable(most);
    if (count > 1) {
      const found = await engine.rows.chain(sequence, last, count, { stops, signal, draws: choice.draws });
      this.millisecondsPerToken = (performance.now() - start) / found.length;
      for (const token of found) choice.accept(token);
      return found;
    }
    const token = await engine.decode(sequence, last, choice, signal);
    this.millisecondsPerToken = performance.now() - start;
    choice.accept(token);
    return [token];
  }

  close(): void {}

  private affordable(most: number): number {
    const { engine, choice } = this.parts;
    const isDevices = !choice.sampler || (choice.draws && engine.rows.canDraw);
    if (!isDevices || engine.active > 1) return 1;
    return Math.min(Math.floor(wakeUpMilliseconds / this.millisecondsPerToken), most, longestChain);
  }
}
