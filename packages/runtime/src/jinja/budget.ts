import { LimitReached } from './error.js';

/** Limits of a rendering. They count operations, not time: the same template and messages always end the same way. */
export interface Limits {
  /** One per evaluated expression or statement, per element read, and per 32 characters read. */
  readonly steps: number;
  /** Characters of all strings made. */
  readonly characters: number;
  /** Elements of all lists and dicts made. */
  readonly elements: number;
  /** Characters of the rendered text. */
  readonly output: number;
  /** Nesting of expressions, statements, calls and values. */
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
 * The limits for variables with `elements` elements and `characters` characters in total. Real templates take about 100
 * steps per message, copy a text a few times, and may copy a list once per element. The constant part allows one second
 * of work and, in the worst case, about 200 MB.
 */
export const limitsFor = (elements: number, characters: number): Limits => ({
  steps: 1_000_000 + 300 * elements + 8 * characters,
  characters: 2 ** 26 + 64 * characters,
  elements: 2 ** 22 + 2000 * elements,
  output: 2 ** 24 + 64 * characters,
  depth: 600,
});

/** Counts the work of a rendering. Every method throws LimitReached beyond its limit. */
export class Budget {
  private readonly used = { steps: 0, characters: 0, elements: 0, output: 0 };
  private depth = 0;

  constructor(private readonly limits: Limits) {}

  step(count = 1): void {
    this.used.steps += count;
    if (this.used.steps > this.limits.steps) this.exceed('steps');
  }

  /** Call on reading a string. */
  read(length: number): void {
    this.step(length / 32);
  }

  /** Call before making a string of `length` characters. */
  characters(length: number): void {
    this.used.characters += length;
    if (!(this.used.characters <= this.limits.characters)) this.exceed('characters');
  }

  /** Call before making a list of `length` elements. */
  elements(length: number): void {
    this.used.elements += length;
    if (!(this.used.elements <= this.limits.elements)) this.exceed('elements');
    this.step(length / 8);
  }

  /**
   * Call before concatenating two strings. JavaScript copies neither, so only the shorter one counts: appending many
   * short strings stays cheap.
   */
  concat(a: number, b: number): void {
    this.characters(Math.min(a, b));
    if (a + b > this.limits.characters) this.exceed('characters');
  }

  output(length: number): void {
    this.used.output += length;
    if (this.used.output > this.limits.output) this.exceed('output');
  }

  /** Runs `work` one level deeper. */
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
