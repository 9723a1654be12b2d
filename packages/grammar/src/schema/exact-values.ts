import { GrammarError } from '../error.js';
import { decimal } from '../json/decimal.js';
import { type ExactNumber, exactNumber, JsonNumber } from '../json/json-number.js';
import type { Work } from '../turns.js';
import { membersOf, pointerPart } from './json.js';

const MOST_EXPONENT = 1000;
/** Values that no one enforces. */
const ANNOTATIONS = new Set(['default', 'examples', 'example']);
const MOST_DEPTH = 500;

/**
 * A schema in which equal numbers are equal values: 1.0 is 1, 1e3 is 1000. A `JsonNumber` is left only where neither a
 * number nor a bigint has its digits. The schema itself where it has none.
 * @throws GrammarError UNSUPPORTED for exponents beyond 1000
 */
export const withExactValues = (schema: unknown): Work<unknown> => new ExactValues().of(schema, '', 0);

const PART = 256; // objects and members: a fraction of a millisecond

class ExactValues {
  private readonly known = new Map<object, unknown>();
  private readonly numbers = new Map<string, JsonNumber>();
  private done = 0;

  *of(value: unknown, pointer: string, depth: number): Work<unknown> {
    if (value instanceof JsonNumber) return this.number(value, pointer);
    if (typeof value !== 'object' || value === null || depth > MOST_DEPTH) return value;
    if (!this.known.has(value)) {
      this.known.set(value, value); // one that contains itself is refused later
      this.known.set(value, yield* this.copied(value, pointer, depth));
    }
    return this.known.get(value);
  }

  private *copied(value: object, pointer: string, depth: number): Work<unknown> {
    const changed: (readonly [string, unknown])[] = [];
    for (const [key, each] of Array.isArray(value) ? value.entries() : membersOf(value)) {
      if (++this.done % PART === 0) yield;
      if (typeof each !== 'object' || each === null || ANNOTATIONS.has(String(key))) continue;
      const exact = yield* this.of(each, `${pointer}/${pointerPart(key)}`, depth + 1);
      if (exact !== each) changed.push([String(key), exact]);
    }
    if (changed.length === 0) return value;
    const exact = Object.fromEntries(changed);
    return Array.isArray(value) ? Object.assign([...value], exact) : { ...value, ...exact };
  }

  private number(value: JsonNumber, pointer: string): ExactNumber {
    if (Math.abs(Number(/e(.*)/i.exec(value.text)?.[1] ?? 0)) > MOST_EXPONENT)
      throw new GrammarError(
        'UNSUPPORTED',
        pointer || '/',
        `${value.text} cannot be enforced; exponents of numbers are at most ${MOST_EXPONENT}`,
      );
    const [whole, fraction] = decimal(value);
    const minus = value.text.startsWith('-') ? '-' : '';
    const text = `${minus}${whole}${fraction && `.${fraction}`}`;
    const near = Number(text);
    if (Number.isFinite(near) && decimal(near).join('.') === `${whole}.${fraction}`)
      return near === 0 ? 0 : near;
    const exact = exactNumber(text);
    if (!(exact instanceof JsonNumber)) return exact;
    const known = this.numbers.get(text) ?? exact;
    this.numbers.set(text, known);
    return known;
  }
}
