import type { KvSequence } from '@quern/core';
import type { Engine } from '../engine/engine.js';
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

/** One token after the other. */
export class PlainDecoding implements Decoding {
  readonly drafted = 0;
  readonly accepted = 0;

  constructor(private readonly parts: DecodingParts) {}

  /** One function for one token: on caches that the weights have filled, each promise more costs microseconds. */
  async next(token: number, most: number): Promise<readonly number[]> {
    const { engine, sequence, choice, stops, signal } = this.parts;
    const found = await engine.decode({ sequence, token, choice, most, stops, signal });
    for (const next of found) choice.accept(next);
    return found;
  }

  close(): void {}
}
