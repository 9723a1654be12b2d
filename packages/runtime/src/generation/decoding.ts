import type { Engine } from '../engine/engine.js';
import type { Sequence } from '../engine/sequence.js';
import type { TokenChoice } from '../engine/token-choice.js';

/** Gives the tokens of a generation after the first. */
export interface Decoding {
  /**
   * Computes `ids`, which the sequence does not hold yet, and gives the n next tokens, 1 ≤ n ≤ `most`. `choice` has
   * accepted them. The sequence holds all of them but the last. A rejection leaves the sequence as before.
   */
  next(ids: readonly number[], most: number): Promise<readonly number[]>;
  /** Drafted tokens; `accepted`: how many were kept. */
  readonly drafted: number;
  readonly accepted: number;
  close(): void;
}

export interface DecodingParts {
  readonly engine: Engine;
  readonly sequence: Sequence;
  readonly choice: TokenChoice;
  /** End tokens. */
  readonly stops: Int32Array;
  readonly signal: AbortSignal | undefined;
}

/** One token at a time. */
export class PlainDecoding implements Decoding {
  readonly drafted = 0;
  readonly accepted = 0;

  constructor(private readonly parts: DecodingParts) {}

  /** No helper functions: with the caches full of weights, each extra promise costs microseconds. */
  async next(ids: readonly number[], most: number): Promise<readonly number[]> {
    const { engine, sequence, choice, stops, signal } = this.parts;
    const found = await engine.decode({ sequence, ids, choice, most, stops, signal });
    for (const next of found) choice.accept(next);
    return found;
  }

  close(): void {}
}
