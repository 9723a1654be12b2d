import { LimitReached } from './error.js';

/** What a template may use: counts, not time, so that the same template and messages always end the same way. */
export interface Limits {
  /** Expressions and statements evaluated, elements looked at, and 32 characters read count 1. */
  readonly steps: number;
  /** Characters of all strings made on the way. */
  readonly characters: number;
  /** Elements of all lists and dicts made on the way. */
  readonly elements: number;
  /** Characters of the rendered text. */
  readonly output: number;
  /** Expressions, statements, calls and values within each other. */
  readonly depth: number;
}

const MEANING = {
  steps: 'steps',
  characters: 'characters of strings made on the way',
  elements: 'elements of lists made on the way',
  output: 'characters of output',
  depth: 'levels of calls and values within each other',
} as const satisfies Record<keyof Limits, string>;

/**
 * The budget for variables with `elements` elements and `characters` characters. Real templates take some 100 steps per message, copy a
 * text a few times, and may copy a list for each of its elements; the fixed part is a second of work, and some 200 MB at the worst.
 */
export const limitsFor = (elements: number, characters: number): Limits => ({
  steps: 1_000_000 + 300 * elements + 8 * characters,
  characters: 2 ** 26 + 64 * characters,
  elements: 2 ** 22 + 2000 * elements,
  output: 2 ** 24 + 64 * characters,
  depth: 600,
});

/** Counts what a rendering uses. Every method throws LimitReached where a bound is passed. */
export class Budget {
  private readonly used = { steps: 0, characters: 0, elements: 0, output: 0 };
  private depth = 0;

  constructor(private readonly limits: Limits) {}

  step(count = 1): void {
    this.used.steps += count;
    if (this.used.steps > this.limits.steps) this.exceed('steps');
  }

  /** Reading a string. */
  read(length: number): void {
    this.step(length / 32);
  }

  /** Before a string of `length` is made. */
  characters(length: number): void {
    this.used.characters += length;
    if (!(this.used.characters <= this.limits.characters)) this.exceed('characters');
  }

  /** Before a list of `length` is made. */
  elements(length: number): void {
    this.used.elements += length;
    if (!(this.used.elements <= this.limits.elements)) this.exceed('elements');
    this.step(length / 8);
  }

  /** Before two strings become one, which copies neither: the longer one may grow by many short ones. */
  concat(a: number, b: number): void {
    this.characters(Math.min(a, b));
    if (a + b > this.limits.characters) this.exceed('characters');
  }

  output(length: number): void {
    this.used.output += length;
    if (this.used.output > this.limits.output) this.exceed('output');
  }

  /** `work`, one level deeper. */
  within<T>(work: () => T): T {
    this.enter();
    const result = work();
    this.leave();
    return result;
  }

  enter(): void {
    if (++this.depth > this.limits.depth) this.exceed('depth');
  }

  leave(): void {
    this.depth--;
  }

  private exceed(which: keyof Limits): never {
    throw new LimitReached(`${this.limits[which].toLocaleString('en')} ${MEANING[which]}`);
  }
}
