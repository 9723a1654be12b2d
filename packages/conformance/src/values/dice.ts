import type { SampleOperand } from '@quern/core';
import { integers, normal, random } from '@quern/core/testing';

/** Seeded random choices for generated cases: the same seed gives the same case on every machine. */
export class Dice {
  private readonly next: () => number;

  constructor(
    seed: number,
    /** Number of this case in a series, for choices that must each occur. */
    readonly round = 0,
  ) {
    this.next = random(seed);
  }

  /** A whole number from `low` to `high`, both inclusive. */
  int(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  pick<T>(choices: readonly T[]): T {
    return choices[this.int(0, choices.length - 1)]!;
  }

  /** The choices in turn, one per round. */
  turn<T>(choices: readonly T[]): T {
    return choices[this.round % choices.length]!;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  normal(shape: readonly number[], deviation = 1): SampleOperand {
    return normal(this.int(1, 1 << 30), shape, deviation);
  }

  integers(shape: readonly number[], below: number): SampleOperand {
    return integers(this.int(1, 1 << 30), shape, below);
  }

  /** Normal values, a few of them NaN. */
  withNaN(shape: readonly number[], deviation = 1): SampleOperand {
    const operand = this.normal(shape, deviation);
    const values = Float32Array.from(operand.values, (value) => (this.chance(0.01) ? Number.NaN : value));
    return { ...operand, values };
  }

  /** 0 … count − 1 in random order. */
  permutation(count: number): number[] {
    const order = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.int(0, i);
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }
}
